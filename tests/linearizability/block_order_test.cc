// H_BULK_REMOVE, H_BLOCK_REMOVE and H_ENTER into full groups hold or take several entry locks. In
// whatever order they name the entries, nobody waits for good, and no entry is removed twice or
// lost.

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hcall/dispatch.h"
#include "tests/linearizability/command_line.h"
#include "tests/linearizability/schedule.h"
#include "tests/linearizability/workload.h"

namespace papr::linearizability {
namespace {

using hcall::HcallRequest;
using hcall::HcallResult;

constexpr uint64_t kSeeds = 400;
constexpr uint64_t kCalls = 8;  // of a thread
// Eight pages of one block, of VSID 0x1000: page n hashes to group n, and all have one AVPN.
constexpr uint64_t kPages = 8;
constexpr uint64_t kAvpn = 0x1000000;
constexpr uint64_t kGroups = 2;  // of which slots are named

class Game {
 public:
  explicit Game(uint64_t seed) : seed_(seed), partition_(MakePartition(hcall::Profile::kKvmHv)) {
    for (uint64_t ptex = 0; ptex < kGroups * kPages; ++ptex) Enter(ptex, hcall::kFlagExact);
  }

  void Play(int thread) {
    std::mt19937_64 random(seed_ * 8 + static_cast<uint64_t>(thread));
    for (uint64_t i = 0; i < kCalls; ++i) {
      std::vector<uint64_t> order(kGroups * kPages);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      switch (random() % 4) {
        case 0:
          BulkRemove(order);
          break;
        case 1:
          BlockRemove(order);
          break;
        default:
          Enter(order[0] & ~uint64_t{7}, 0);
      }
    }
  }

  // Every entry that came in and did not go out is there.
  void Check() {
    int64_t there = 0;
    for (uint64_t ptex = 0; ptex < kGroups * kPages; ++ptex) {
      there += (Call(hcall::kHRead, {0, ptex}).registers[0] & 1) != 0 ? 1 : 0;
    }
    EXPECT_EQ(there, entered_ - removed_) << "of --seed=" << seed_;
  }

 private:
  HcallResult Call(uint64_t opcode, std::span<const uint64_t> arguments) {
    HcallRequest request{.opcode = opcode};
    std::copy(arguments.begin(), arguments.end(), request.registers.begin());
    return hcall::Dispatch(*partition_, request);
  }
  HcallResult Call(uint64_t opcode, std::initializer_list<uint64_t> arguments) {
    return Call(opcode, std::span(arguments.begin(), arguments.size()));
  }

  void Enter(uint64_t ptex, uint64_t flags) {
    const HcallResult result = Call(hcall::kHEnter, {flags, ptex, kAvpn | 1, 0x1010});
    if (result.return_code == hcall::kHSuccess) {
      ++entered_;
    } else {
      EXPECT_EQ(result.return_code, hcall::kHPtegFull);
    }
  }

  void BulkRemove(const std::vector<uint64_t>& order) {
    std::vector<uint64_t> arguments;
    for (int i = 0; i < 4; ++i) {
      arguments.insert(arguments.end(), {(uint64_t{0x42} << 56) | order[i], kAvpn});
    }
    const HcallResult result = Call(hcall::kHBulkRemove, arguments);
    EXPECT_EQ(result.return_code, hcall::kHSuccess);
    for (int i = 0; i < 4; ++i) removed_ += (result.registers[2 * i] >> 60) == 0x8 ? 1 : 0;
  }

  void BlockRemove(const std::vector<uint64_t>& order) {
    std::vector<uint64_t> arguments = {kAvpn};
    for (int i = 0; i < 8; ++i) arguments.push_back((uint64_t{0x41} << 56) | order[i]);
    const HcallResult result = Call(hcall::kHBlockRemove, arguments);
    int removed = 0;
    for (int i = 0; i < 8; ++i) removed += (result.registers[i] >> 59) == 0x10 ? 1 : 0;
    EXPECT_EQ(result.return_code, removed == 8 ? hcall::kHSuccess : hcall::kHPartial);
    removed_ += removed;
  }

  const uint64_t seed_;
  const std::unique_ptr<hcall::Partition> partition_;
  std::atomic<int64_t> entered_{0};
  std::atomic<int64_t> removed_{0};
};

void PlayAll(Schedule::Mode mode) {
  const uint64_t seeds = Histories(kSeeds);
  for (uint64_t seed = Options().seed; seed < Options().seed + seeds; ++seed) {
    Game game(seed);
    const int threads = static_cast<int>(2 + seed % 3);
    Schedule schedule(mode, seed);
    schedule.Run(threads, "block_order_test --seed=" + std::to_string(seed),
                 [&](int thread) { game.Play(thread); });
    game.Check();
  }
}

TEST(BlockOrder, NobodyWaitsForGood) { PlayAll(Schedule::Mode::kControlled); }

TEST(BlockOrder, NobodyWaitsForGoodFreeRunning) { PlayAll(Schedule::Mode::kFreeRunning); }

}  // namespace
}  // namespace papr::linearizability

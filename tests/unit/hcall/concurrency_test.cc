// Hcalls of many processors at once. Each test plays a race many times, with the threads of a round
// released together.

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/hcall/test_partition.h"

namespace papr::hcall {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kRounds = 1'000;
constexpr uint64_t kPasses = 20'000;
#else
constexpr int kRounds = 10'000;
constexpr uint64_t kPasses = 1'000'000;
#endif

constexpr auto kRaceTime = std::chrono::seconds(3);

constexpr mmu::Hpte kEntry = {0x1f81, 0xfff012};
constexpr uint64_t kPtex = 0x3ff0;
constexpr uint64_t kRc = mmu::kRReferenced | mmu::kRChanged;

class ConcurrencyTest : public testing::TestWithParam<const char*> {
 protected:
  // Runs each function once a round, all of a round at once; between rounds `check` runs alone.
  void Race(const std::vector<std::function<void()>>& players, const std::function<void()>& prepare,
            const std::function<void()>& check) {
    int round = 0;
    prepare();
    std::barrier start(static_cast<std::ptrdiff_t>(players.size()));
    std::barrier end(static_cast<std::ptrdiff_t>(players.size()), [&]() noexcept {
      check();
      if (++round < kRounds) prepare();
    });
    std::vector<std::thread> threads;
    for (const auto& player : players) {
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) {
          start.arrive_and_wait();
          player();
          end.arrive_and_wait();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  int64_t Enter(uint64_t ptex, const mmu::Hpte& hpte) {
    return Call(*partition_, kHEnter, {kFlagExact, ptex, hpte.v, hpte.r}).return_code;
  }
  // A table walk that sets bits; false if the entry is gone.
  bool Touch(uint64_t ptex, bool referenced, bool changed) {
    size_t applied = 0;
    const ReferenceChange update = {ptex, referenced, changed};
    return partition_->SetReferenceChange({&update, 1}, &applied).ok();
  }
  void Empty() { EXPECT_TRUE(partition_->Reset().ok()); }

  std::unique_ptr<Partition> partition_ =
      MakePartition(std::string("order=18,ram=0:8G,profile=") + GetParam());
};

INSTANTIATE_TEST_SUITE_P(Profiles, ConcurrencyTest, testing::Values("kvm-hv", "qemu-tcg"),
                         [](const auto& param) {
                           return param.param == std::string("kvm-hv") ? "KvmHv" : "QemuTcg";
                         });

// hcalls 16.62: two processors fill a group; nobody fails, no slot is given twice, the ninth finds
// none.
TEST_P(ConcurrencyTest, EntersIntoOneGroupGetDistinctSlots) {
  std::array<std::atomic<int>, 8> taken{};
  std::atomic<int> failed{0};
  const auto enter_four = [&] {
    for (int i = 0; i < 4; ++i) {
      const HcallResult result = Call(*partition_, kHEnter, {0, kPtex, kEntry.v, kEntry.r});
      if (result.return_code == kHSuccess) {
        ++taken[result.registers[0] - kPtex];
      } else {
        ++failed;
      }
    }
  };
  Race(
      {enter_four, enter_four},
      [&] {
        Empty();
        for (auto& count : taken) count = 0;
      },
      [&] {
        for (const auto& count : taken) EXPECT_EQ(count, 1);
        EXPECT_EQ(failed, 0);
        EXPECT_EQ(Call(*partition_, kHEnter, {0, kPtex, kEntry.v, kEntry.r}).return_code,
                  kHPtegFull);
      });
}

// hcalls 16.63: of two H_REMOVE of one entry one succeeds.
TEST_P(ConcurrencyTest, OneOfTwoRemovesSucceeds) {
  std::array<int64_t, 2> codes{};
  Race(
      {[&] {
         codes[0] = Call(*partition_, kHRemove, {0, kPtex, 0}).return_code;
       },
       [&] {
         codes[1] = Call(*partition_, kHRemove, {0, kPtex, 0}).return_code;
       }},
      [&] { EXPECT_EQ(Enter(kPtex, kEntry), kHSuccess); },
      [&] {
        EXPECT_EQ(codes[0] + codes[1], kHSuccess + kHNotFound);
        EXPECT_TRUE(codes[0] == kHSuccess || codes[1] == kHSuccess);
      });
}

// The same between the calls that find the entry by its slot, by a list and by its hash.
TEST_P(ConcurrencyTest, OneOfThreeKindsOfRemoveSucceeds) {
  std::atomic<int> removed{0};
  const bool kvm = GetParam() == std::string("kvm-hv");
  Race(
      {[&] {
         removed += Call(*partition_, kHRemove, {0, kPtex, 0}).return_code == kHSuccess;
       },
       [&] {
         const HcallResult result =
             Call(*partition_, kHBulkRemove, {0x4200000000003ff0, 0x1f80, 0xc000000000000000});
         removed += (result.registers[0] >> 60) == 8;
       },
       [&] {
         if (!kvm) return;
         removed +=
             Call(*partition_, kHHashRemove, {kFlagAvpn, 0xfffe, 0x1f80}).return_code == kHSuccess;
       }},
      [&] {
        removed = 0;
        EXPECT_EQ(Enter(kPtex, kEntry), kHSuccess);
      },
      [&] { EXPECT_EQ(removed, 1); });
}

// Two sides of a race without a barrier, so that they meet at every offset: `walker` runs kPasses
// times, or as often as kRaceTime allows where the two must share a processor; `other` runs over
// and over meanwhile. Returns the number of passes.
uint64_t RunAgainst(const std::function<void(uint64_t pass)>& walker,
                    const std::function<void()>& other) {
  std::atomic<bool> done{false};
  std::thread thread([&] {
    while (!done) other();
  });
  const auto end = std::chrono::steady_clock::now() + kRaceTime;
  uint64_t pass = 0;
  while (pass < kPasses && std::chrono::steady_clock::now() < end) walker(pass++);
  done = true;
  thread.join();
  return pass;
}

// Entry number `pass` of such a race: its real address tells it from the others.
constexpr mmu::Hpte Numbered(uint64_t pass) { return {kEntry.v, pass << 12 | 0x12}; }

// hcalls 16.63: what a storing processor set before the entry went is in the result of H_REMOVE:
// H_REMOVE must not return R and C as they were before it invalidated the entry.
TEST_P(ConcurrencyTest, RemoveLosesNoReferenceOrChange) {
  std::vector<uint64_t> removed(kPasses);  // R that H_REMOVE returned, by number
  std::vector<uint64_t> expected(kPasses);
  const uint64_t passes = RunAgainst(
      [&](uint64_t pass) {
        while (Enter(kPtex, Numbered(pass)) != kHSuccess) std::this_thread::yield();
        expected[pass] = Numbered(pass).r | (Touch(kPtex, true, true) ? kRc : 0);
      },
      [&] {
        const HcallResult result = Call(*partition_, kHRemove, {0, kPtex, 0});
        if (result.return_code != kHSuccess) return;
        removed[result.registers[1] >> 12] = result.registers[1];
      });
  const HcallResult last = Call(*partition_, kHRemove, {0, kPtex, 0});
  if (last.return_code == kHSuccess) removed[passes - 1] = last.registers[1];
  EXPECT_EQ(removed, expected);
}

// H_PROTECT must not write back a second doubleword without the R and C that were set meanwhile.
TEST_P(ConcurrencyTest, ProtectLosesNoReferenceOrChange) {
  uint64_t lost = 0;
  RunAgainst(
      [&](uint64_t pass) {
        EXPECT_EQ(Enter(kPtex, Numbered(pass)), kHSuccess);
        EXPECT_TRUE(Touch(kPtex, true, false));
        EXPECT_TRUE(Touch(kPtex, false, true));
        const uint64_t r = Call(*partition_, kHRemove, {0, kPtex, 0}).registers[1];
        EXPECT_EQ(r >> 12, pass);
        lost += (r & kRc) != kRc;
      },
      [&] {
        Call(*partition_, kHProtect, {3, kPtex, 0});
      });
  EXPECT_EQ(lost, 0u);
}

// Each time a walk sets C, one H_CLEAR_MOD reports it; the same for R.
TEST(ClearConcurrencyTest, ClearsLoseNoReferenceOrChange) {
  const auto partition = MakePartition("order=18,ram=0:1G");
  ASSERT_EQ(Call(*partition, kHEnter, {kFlagExact, kPtex, kEntry.v, kEntry.r}).return_code,
            kHSuccess);
  std::atomic<uint64_t> changes{0};
  std::atomic<uint64_t> references{0};
  const uint64_t passes = RunAgainst(
      [&](uint64_t) {
        size_t applied = 0;
        const ReferenceChange update = {kPtex, true, true};
        EXPECT_TRUE(partition->SetReferenceChange({&update, 1}, &applied).ok());
        while ((Call(*partition, kHRead, {0, kPtex}).registers[1] & kRc) != 0) {
          std::this_thread::yield();
        }
      },
      [&] {
        const uint64_t before_mod = Call(*partition, kHClearMod, {0, kPtex}).registers[0];
        changes += (before_mod & mmu::kRChanged) != 0;
        const uint64_t before_ref = Call(*partition, kHClearRef, {0, kPtex}).registers[0];
        references += (before_ref & mmu::kRReferenced) != 0;
      });
  EXPECT_EQ(changes, passes);
  EXPECT_EQ(references, passes);
}

// A call that tests the AVPN acts on the entry that it tested, not on the next one of that slot.
TEST_P(ConcurrencyTest, TestAndRemoveAreOne) {
  constexpr mmu::Hpte kOther = {0x101f81, 0x12};
  const bool hash = GetParam() == std::string("kvm-hv");
  RunAgainst(
      [&](uint64_t) {
        EXPECT_EQ(Enter(kPtex, kEntry), kHSuccess);
        Call(*partition_, kHRemove, {0, kPtex, 0});  // unless the other side was first
        EXPECT_EQ(Enter(kPtex, kOther), kHSuccess);
        EXPECT_EQ(Call(*partition_, kHRemove, {0, kPtex, 0}).return_code, kHSuccess);
      },
      [&] {
        Call(*partition_, kHRemove, {kFlagAvpn, kPtex, 0x1f80});
        Call(*partition_, kHBulkRemove, {0x4200000000003ff0, 0x1f80, 0xc000000000000000});
        if (hash) Call(*partition_, kHHashRemove, {kFlagAvpn, 0xfffe, 0x1f80});
      });
}

// hcalls 16.64: a reader never sees the V of one entry with the R of another.
TEST_P(ConcurrencyTest, ReadPairsBelongTogether) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 1; !stop; ++i) {
      const uint64_t tag = i & 0xfff;
      EXPECT_EQ(Enter(kPtex, {tag << 12 | 1, tag << 12 | 0x12}), kHSuccess);
      EXPECT_EQ(Call(*partition_, kHRemove, {0, kPtex, 0}).return_code, kHSuccess);
    }
  });
  uint64_t valid = 0;
  for (int round = 0; round < kRounds * 20; ++round) {
    const HcallResult result = Call(*partition_, kHRead, {round % 2 == 0 ? 0 : kFlagRead4, kPtex});
    const uint64_t v = result.registers[0];
    if ((v & mmu::kVValid) == 0) continue;
    ++valid;
    ASSERT_EQ(v >> 12, result.registers[1] >> 12);
  }
  stop = true;
  writer.join();
  RecordProperty("valid_reads", std::to_string(valid));
}

// Hcalls go on while the table is exchanged; none falls into the old one.
TEST_P(ConcurrencyTest, HcallsBesideResizes) {
  std::atomic<bool> stop{false};
  ASSERT_EQ(Enter(kPtex, {kEntry.v | mmu::kVBolted, kEntry.r}), kHSuccess);
  std::vector<std::thread> guests;
  for (int i = 0; i < 2; ++i) {
    guests.emplace_back([&, i] {
      const uint64_t ptex = 0x100 + 8 * static_cast<uint64_t>(i);
      while (!stop) {
        const int64_t entered = Enter(ptex, kEntry);
        EXPECT_EQ(entered, kHSuccess);
        // Gone by itself if a commit came between: the entry is not bolted.
        const int64_t removed = Call(*partition_, kHRemove, {0, ptex, 0}).return_code;
        EXPECT_TRUE(removed == kHSuccess || removed == kHNotFound) << removed;
      }
    });
  }
  for (uint64_t round = 0; round < 50; ++round) {
    const uint64_t order = round % 2 == 0 ? 19 : 18;
    while (Call(*partition_, kHResizeHptPrepare, {0, order}).return_code != kHSuccess) {
      std::this_thread::yield();
    }
    ASSERT_EQ(Call(*partition_, kHResizeHptCommit, {0, order}).return_code, kHSuccess);
    EXPECT_EQ(partition_->order(), static_cast<int>(order));
  }
  stop = true;
  for (std::thread& guest : guests) guest.join();
  EXPECT_EQ(partition_->GetStatistics().bolted, 1u);
}

}  // namespace
}  // namespace papr::hcall

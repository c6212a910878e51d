#include "tests/linearizability/resize_load.h"

#include <algorithm>
#include <random>
#include <thread>

#include "absl/strings/str_format.h"
#include "hcall/dispatch.h"
#include "tests/model/reference_entry.h"

namespace papr::linearizability {
namespace {

constexpr uint64_t kGigabyte = uint64_t{1} << 30;
constexpr int kSmallest = 18;
constexpr int kOrders = 3;              // 18, 19, 20
constexpr uint64_t kGroupMask = 0x7ff;  // of the smallest
constexpr uint64_t kGroups = 4;         // that the unbolted entries are in
constexpr uint64_t kMaxEntered = 1 << 16;

// Bolted page n: its real page, far from those of the others; some sit in their secondary group.
constexpr uint64_t kBoltedPages = 12;
constexpr uint64_t kFirstBoltedPage = 0x20000;
bool IsSecondary(uint64_t n) { return n % 3 == 0; }
model::VirtualPage BoltedPage(uint64_t n) {
  return {.segment_shift = 28, .base_shift = 12, .vsid = 0x1000 + n, .offset = n * 0x123000};
}
uint64_t BoltedR(uint64_t n) { return ((kFirstBoltedPage + n) << 12) | 0x10; }

// V of all unbolted entries: of a page that no bolted one shares an AVPN with.
constexpr model::VirtualPage kUnbolted = {
    .segment_shift = 28, .base_shift = 12, .vsid = 0x8000, .offset = 0x1000};

// Without what calls and profiles change: protection, R, C; QEMU's bit.
uint64_t PageOf(uint64_t r) { return (r & model::kRealPage) >> 12; }
uint64_t GuestV(uint64_t v) { return v & ~model::kHypervisorBits; }

}  // namespace

ResizeLoad::ResizeLoad(uint64_t seed, hcall::Profile profile, hcall::ResizePreparation preparation)
    : seed_(seed), preparation_(preparation), entered_(kMaxEntered) {
  hcall::PartitionConfig config;
  config.profile = profile;
  config.order = kSmallest;
  config.max_order = kSmallest + kOrders - 1;
  config.memory = {{0, kGigabyte, hcall::MemoryRegion::Kind::kRam}};
  config.features = hcall::Features::Default(profile);
  config.features.hash = true;
  if (config.qemu()) config.block_remove_sizes = {};
  config.resize_preparation = preparation;
  partition_ = *hcall::Partition::Create(std::move(config));
  EnterBolted();
}

hcall::HcallResult ResizeLoad::Call(uint64_t opcode, std::initializer_list<uint64_t> arguments) {
  hcall::HcallRequest request{.opcode = opcode};
  std::copy(arguments.begin(), arguments.end(), request.registers.begin());
  return hcall::Dispatch(*partition_, request);
}

void ResizeLoad::Complain(const std::string& what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (complaint_.empty()) complaint_ = what;
}

void ResizeLoad::Expect(const hcall::HcallResult& result, std::initializer_list<int64_t> codes,
                        const char* call) {
  if (std::find(codes.begin(), codes.end(), result.return_code) != codes.end()) return;
  Complain(absl::StrFormat("%s answered %s", call, hcall::ReturnCodeName(result.return_code)));
}

void ResizeLoad::EnterBolted() {
  for (uint64_t n = 0; n < kBoltedPages; ++n) {
    const model::VirtualPage page = BoltedPage(n);
    const uint64_t first = model::GroupStart(model::HashOf(page), IsSecondary(n), kGroupMask);
    const uint64_t v = model::AvpnOf(page) | model::kBolted | model::kPresent |
                       (IsSecondary(n) ? model::kSecondary : 0);
    Expect(Call(hcall::kHEnter, {hcall::kFlagExact, first + n % 8, v, BoltedR(n)}),
           {hcall::kHSuccess}, "H_ENTER of a bolted page");
  }
}

void ResizeLoad::PrepareTable(int order) {
  const uint64_t shift = static_cast<uint64_t>(order);
  Expect(Call(hcall::kHResizeHptPrepare, {0, shift}), {hcall::kHLongBusyOrder100Msec},
         "the first H_RESIZE_HPT_PREPARE");
  if (preparation_ == hcall::ResizePreparation::kManual) {
    Expect(Call(hcall::kHResizeHptCommit, {0, shift}), {hcall::kHBusy}, "an early commit");
    if (!partition_->FinishResizePreparation(order, hcall::kHSuccess).ok()) {
      Complain("FinishResizePreparation() failed");
    }
  }
  for (;;) {
    const auto result = Call(hcall::kHResizeHptPrepare, {0, shift});
    if (result.return_code == hcall::kHSuccess) return;
    Expect(result, {hcall::kHLongBusyOrder100Msec}, "H_RESIZE_HPT_PREPARE");
    std::this_thread::yield();
  }
}

void ResizeLoad::Resize(int commits) {
  std::mt19937_64 random(seed_);
  for (int i = 0; i < commits; ++i) {
    const int order = kSmallest + static_cast<int>(random() % kOrders);
    PrepareTable(order);
    Commit commit{.called = Now()};
    Expect(Call(hcall::kHResizeHptCommit, {0, static_cast<uint64_t>(order)}), {hcall::kHSuccess},
           "H_RESIZE_HPT_COMMIT");
    commit.returned = Now();
    const std::lock_guard<std::mutex> lock(mutex_);
    commits_.push_back(commit);
  }
  done_ = true;
}

void ResizeLoad::Use(int thread, int calls) {
  std::mt19937_64 random(seed_ * 16 + static_cast<uint64_t>(thread));
  for (int i = 0; i < calls || !done_; ++i) UseOnce(random());
}

void ResizeLoad::Enter(uint64_t choice, uint64_t ptex) {
  const uint64_t page = next_page_.fetch_add(1);
  if (page >= kMaxEntered) return;
  const uint64_t v = model::AvpnOf(kUnbolted) | model::kPresent | (choice % 2 != 0 ? 8 : 0);
  {
    // Before the call, which others may see before it returns.
    const std::lock_guard<std::mutex> lock(mutex_);
    entered_[page].v = v;
  }
  Expect(
      Call(hcall::kHEnter, {choice % 3 == 0 ? hcall::kFlagExact : 0, ptex, v, (page << 12) | 0x10}),
      {hcall::kHSuccess, hcall::kHPtegFull}, "H_ENTER");
  const uint64_t returned = Now();
  const std::lock_guard<std::mutex> lock(mutex_);
  entered_[page].returned = returned;
}

void ResizeLoad::See(uint64_t called, uint64_t v, uint64_t r) {
  if ((v & model::kPresent) == 0 || (v & model::kBolted) != 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  seen_.push_back({called, v, r});
}

void ResizeLoad::UseOnce(uint64_t choice) {
  const uint64_t group =
      model::GroupStart(model::HashOf(kUnbolted) ^ (choice % kGroups), false, kGroupMask);
  const uint64_t ptex = group + choice / 4 % 8;
  const uint64_t n = choice / 32 % kBoltedPages;
  const model::VirtualPage bolted = BoltedPage(n);
  const uint64_t called = Now();
  switch (choice / 512 % 8) {
    case 0:
    case 1:
      return Enter(choice / 4096, ptex);
    case 2: {
      const auto result = Call(hcall::kHRemove, {hcall::kFlagAndCond, ptex, model::kBolted});
      Expect(result, {hcall::kHSuccess, hcall::kHNotFound}, "H_REMOVE");
      if (result.return_code == hcall::kHSuccess) {
        See(called, result.registers[0], result.registers[1]);
      }
      return;
    }
    case 3: {
      const auto result = Call(hcall::kHHashRemove, {hcall::kFlagAvpn, model::HashOf(kUnbolted),
                                                     model::AvpnOf(kUnbolted)});
      Expect(result, {hcall::kHSuccess, hcall::kHNotFound}, "H_HASH_REMOVE");
      if (result.return_code == hcall::kHSuccess) {
        See(called, result.registers[0], result.registers[1]);
      }
      return;
    }
    case 4:
      return Expect(Call(hcall::kHHashProtect,
                         {hcall::kFlagAvpn | 2, model::HashOf(bolted), model::AvpnOf(bolted)}),
                    {hcall::kHSuccess}, "H_HASH_PROTECT of a bolted page");
    default: {
      const auto result = Call(hcall::kHRead, {hcall::kFlagRead4, ptex});
      Expect(result, {hcall::kHSuccess}, "H_READ");
      for (int i = 0; i < 8; i += 2) See(called, result.registers[i], result.registers[i + 1]);
    }
  }
}

void ResizeLoad::CheckSightings() {
  for (const Seen& seen : seen_) {
    const uint64_t page = PageOf(seen.r);
    if (page >= kMaxEntered || GuestV(seen.v) != entered_[page].v) {
      complaint_ = absl::StrFormat("V 0x%x was seen with R 0x%x", seen.v, seen.r);
      return;
    }
    for (const Commit& commit : commits_) {
      if (entered_[page].returned < commit.called && commit.returned < seen.called) {
        complaint_ = absl::StrFormat(
            "page 0x%x, entered by %d, was seen at %d, after the commit from %d to %d", page,
            entered_[page].returned, seen.called, commit.called, commit.returned);
        return;
      }
    }
  }
}

void ResizeLoad::CheckBolted() {
  std::vector<int> found(kBoltedPages);
  const uint64_t entries = uint64_t{1} << (partition_->order() - 4);
  for (uint64_t ptex = 0; ptex < entries; ptex += 4) {
    const auto four = Call(hcall::kHRead, {hcall::kFlagRead4, ptex}).registers;
    for (int i = 0; i < 8; i += 2) {
      const uint64_t n = PageOf(four[i + 1]) - kFirstBoltedPage;
      if ((four[i] & model::kBolted) != 0 && n < kBoltedPages) ++found[n];
    }
  }
  for (uint64_t n = 0; n < kBoltedPages; ++n) {
    if (found[n] != 1) complaint_ = absl::StrFormat("bolted page %d stands %d times", n, found[n]);
  }
}

std::string ResizeLoad::Verdict() {
  if (complaint_.empty()) CheckSightings();
  if (complaint_.empty()) CheckBolted();
  return complaint_;
}

}  // namespace papr::linearizability

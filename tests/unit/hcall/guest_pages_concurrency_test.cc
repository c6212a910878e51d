// The reverse map and the dirty log while hcalls, table walks, questions, unplugs and resizes go on
// at once.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "hcall/guest_pages.h"
#include "tests/unit/hcall/test_partition.h"

namespace papr::hcall {
namespace {

using Clear = mmu::ReferenceHarvest::Clear;
using Take = mmu::DirtyLog::Take;

constexpr auto kRaceTime = std::chrono::milliseconds(1500);
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kWriters = 3;
// Of the guest's pages these are changed: some of the first 64 KB, which one entry may map, and one
// that only 16 MB pages share with them.
constexpr uint64_t kPages = 20;
constexpr uint64_t AddressOf(uint64_t page) { return page < 16 ? page * kPageBytes : page << 18; }

struct Entry {
  uint64_t v = 0;
  uint64_t r = 0;
};

// An entry that maps `address` with a page of 4 KB, 64 KB or 16 MB.
Entry EntryFor(uint64_t address, uint64_t kind, uint64_t tag) {
  const uint64_t v = tag << 12 | mmu::kVValid;
  if (kind == 0) return {v | mmu::kVLarge, mmu::EncodeR(address, mmu::k64K, 0x1, 0x10)};
  if (kind == 1) return {v | mmu::kVLarge, mmu::EncodeR(address, mmu::k16M, 0x8, 0x10)};
  return {v, mmu::EncodeR(address, mmu::k4K, 0, 0x10)};
}

class GuestPagesConcurrencyTest : public testing::TestWithParam<const char*> {
 protected:
  // A processor that changes pages: each change is made through an entry that maps the page, by a
  // walk that sets C or an entry that comes with it, again if the entry is taken away before.
  void Change(uint64_t writer) {
    std::mt19937_64 random(writer + 1);
    const auto below = [&random](uint64_t bound) { return random() % bound; };
    while (!stop_) {
      const uint64_t page = below(kPages);
      const uint64_t ptex = 0x100 * writer + below(24);
      contents_[page].fetch_add(1);
      bool changed = false;
      while (!changed) {
        const uint64_t kind = below(8);
        if (kind == 1 || page < 16 || kind > 1) {
          Entry entry = EntryFor(AddressOf(page), kind, below(4));
          if (below(4) == 0) entry.r |= mmu::kRReferenced | mmu::kRChanged;
          if (below(3) == 0) entry.v |= mmu::kVBolted;
          Call(*partition_, kHRemove, {0, ptex, 0});
          const bool entered =
              Call(*partition_, kHEnter, {kFlagExact, ptex, entry.v, entry.r}).return_code ==
              kHSuccess;
          changed = entered && (entry.r & mmu::kRChanged) != 0;
          // The slot is this processor's own, but for resizes and unplugs, so that the entry that
          // is walked is the one that was entered, or none.
          if (entered && !changed) changed = Walk(ptex);
        }
      }
      for (uint64_t more = below(3); more > 0; --more)
        Disturb(0x100 * writer + below(24), below(4));
    }
  }

  bool Walk(uint64_t ptex) {
    size_t applied = 0;
    const ReferenceChange update = {ptex, true, true};
    return partition_->SetReferenceChange({&update, 1}, &applied).ok();
  }

  // What changes no page.
  void Disturb(uint64_t ptex, uint64_t how) {
    if (how == 0) Call(*partition_, kHProtect, {3, ptex, 0});
    if (how == 1) Call(*partition_, kHClearMod, {0, ptex});
    if (how == 2) Call(*partition_, kHClearRef, {0, ptex});
    if (how == 3) Call(*partition_, kHRemove, {0, ptex, 0});
  }

  // Looks at each page that is reported after the answer has come.
  void AskDirty() {
    for (uint64_t start = 0;;) {
      const auto answer = TakeDirtyPages(*partition_, start, 3, Take::kYes);
      ASSERT_TRUE(answer.ok()) << answer.status();
      for (const PageRun& run : answer->runs) {
        for (uint64_t page = 0; page < kPages; ++page) {
          const uint64_t address = AddressOf(page);
          if (address - run.address < run.bytes) seen_[page] = contents_[page];
        }
      }
      if (!answer->more) return;
      start = answer->next;
    }
  }

  void Resize() {
    const uint64_t order = partition_->order() == 18 ? 19 : 18;
    for (int i = 0; i < 1000 && !stop_; ++i) {
      const int64_t code = Call(*partition_, kHResizeHptPrepare, {0, order}).return_code;
      if (code == kHSuccess) break;
      std::this_thread::yield();
    }
    Call(*partition_, kHResizeHptCommit, {0, order});
  }

  // Runs each function on a thread of its own, over and over.
  void Race(const std::vector<std::function<void()>>& players) {
    std::vector<std::thread> threads;
    for (const auto& player : players) {
      threads.emplace_back([&] {
        while (!stop_) player();
      });
    }
    std::this_thread::sleep_for(kRaceTime);
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<std::function<void()>> Writers() {
    std::vector<std::function<void()>> players;
    for (uint64_t writer = 0; writer < kWriters; ++writer) {
      players.emplace_back([this, writer] { Change(writer); });
    }
    return players;
  }

  // Every change is in an answer that came after it.
  void ExpectNothingLost() {
    AskDirty();
    uint64_t changes = 0;
    for (uint64_t page = 0; page < kPages; ++page) {
      EXPECT_EQ(seen_[page], contents_[page]) << "page " << page;
      changes += contents_[page];
    }
    EXPECT_GT(changes, 0u);
    EXPECT_EQ(partition_->reverse_map()->CheckLists(), absl::OkStatus());
  }

  std::unique_ptr<Partition> partition_ =
      MakePartition(std::string("order=18,max-order=19,ram=0:1G,track-guest-pages=true,"
                                "page-sizes=power,profile=") +
                    GetParam());
  std::atomic<bool> stop_{false};
  std::array<std::atomic<uint64_t>, kPages> contents_{};
  std::array<uint64_t, kPages> seen_{};
};

INSTANTIATE_TEST_SUITE_P(Profiles, GuestPagesConcurrencyTest, testing::Values("kvm-hv", "qemu-tcg"),
                         [](const auto& param) {
                           return param.param == std::string("kvm-hv") ? "KvmHv" : "QemuTcg";
                         });

TEST_P(GuestPagesConcurrencyTest, NoChangeIsLostBesideQuestions) {
  auto players = Writers();
  players.emplace_back([this] { AskDirty(); });
  players.emplace_back([this] {
    EXPECT_TRUE(HarvestReferenceChange(*partition_, 0, 32 << 20, 100, Clear::kYes).ok());
    EXPECT_TRUE(ListMappings(*partition_, 0, 5).ok());
  });
  Race(players);
  ExpectNothingLost();
}

TEST_P(GuestPagesConcurrencyTest, NoChangeIsLostBesideUnplugsAndResizes) {
  auto players = Writers();
  players.emplace_back([this] { AskDirty(); });
  players.emplace_back([this] {
    Resize();
    EXPECT_TRUE(RemoveMappings(*partition_, 4 * kPageBytes, 3 * kPageBytes).ok());
    EXPECT_TRUE(partition_->Check(10).findings.size() <= 10);
    std::this_thread::yield();
  });
  Race(players);
  ExpectNothingLost();
}

// An entry whose page is removed from the guest is gone when the call returns, if nobody makes it
// anew.
TEST_P(GuestPagesConcurrencyTest, AnUnpluggedRangeIsEmptyOnceTheGuestLeavesItAlone) {
  for (uint64_t i = 0; i < 16; ++i) {
    const Entry entry = EntryFor(i * kPageBytes, i % 3, i);
    Call(*partition_, kHEnter, {kFlagExact, i, entry.v, entry.r});
  }
  std::thread other([&] {
    std::mt19937_64 random(7);
    while (!stop_) {
      Disturb(random() % 16, random() % 3);
      Walk(random() % 16);
    }
  });
  const auto removed = RemoveMappings(*partition_, 0x10000, 0x10000);  // 16 MB pages overlap it
  const auto rest = RemoveMappings(*partition_, 0, 0x10000);
  stop_ = true;
  other.join();
  EXPECT_EQ(removed->removed, 5u);
  EXPECT_EQ(rest->removed, 11u);
  EXPECT_EQ(partition_->GetStatistics().valid, 0u);
  EXPECT_EQ(partition_->reverse_map()->CheckLists(), absl::OkStatus());
}

}  // namespace
}  // namespace papr::hcall

#include "mmu/hash_page_table.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace papr::mmu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Hpte kHpte = {0x1f81, 0xfff012};

std::unique_ptr<HashPageTable> MakeTable(int order = 18, uint64_t empty_v = 0) {
  auto table = HashPageTable::Create(order, empty_v);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

struct MemoryUse {
  uint64_t mapped = 0;    // bytes
  uint64_t resident = 0;  // bytes
};

MemoryUse ReadMemoryUse() {
  MemoryUse use;
  std::ifstream("/proc/self/statm") >> use.mapped >> use.resident;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return {use.mapped * page, use.resident * page};
}

uint64_t ResidentBytes() { return ReadMemoryUse().resident; }

std::vector<std::pair<uint64_t, uint64_t>> TouchedRuns(const HashPageTable& table) {
  std::vector<std::pair<uint64_t, uint64_t>> runs;
  table.ForEachTouchedRun([&](uint64_t first, uint64_t count) { runs.emplace_back(first, count); });
  return runs;
}

TEST(HashPageTable, OrdersOutsideTheArchitectureAreRefused) {
  for (const int order : {-1, 0, 17, 47, 64, 1000}) {
    const auto table = HashPageTable::Create(order);
    ASSERT_FALSE(table.ok()) << order;
    EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument) << order;
  }
}

TEST(HashPageTable, EmptyEntriesAreZeroUnlessToldOtherwise) {
  const auto table = HashPageTable::Create(18);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ((*table)->Read(0x3fff), Hpte{});
  EXPECT_EQ((*table)->empty_entry(), Hpte{});
}

TEST(HashPageTable, SizesFollowFromTheOrder) {
  const auto table = MakeTable(18);
  EXPECT_EQ(table->order(), 18);
  EXPECT_EQ(table->bytes(), uint64_t{256} << 10);
  EXPECT_EQ(table->entry_count(), 0x4000u);
  EXPECT_EQ(table->pteg_count(), 0x800u);
  EXPECT_EQ(table->hash_mask(), 0x7ffu);
  EXPECT_TRUE(table->Contains(0x3fff));
  EXPECT_FALSE(table->Contains(0x4000));
  EXPECT_FALSE(table->Contains(~uint64_t{0}));
}

TEST(HashPageTable, AFreshTableReadsAsItsEmptyValue) {
  for (const uint64_t empty_v : {uint64_t{0}, kVSoftwareDirty}) {
    const auto table = MakeTable(18, empty_v);
    EXPECT_EQ(table->empty_entry(), (Hpte{empty_v, 0}));
    for (const uint64_t ptex : {0x0, 0x1, 0x1fff, 0x3fff}) {
      EXPECT_EQ(table->Read(ptex), (Hpte{empty_v, 0}));
    }
    EXPECT_THAT(TouchedRuns(*table), IsEmpty());
    EXPECT_EQ(table->touched_bytes(), 0u);
  }
}

TEST(HashPageTable, TheNextTouchedEntryIsFoundFromAnywhere) {
  const auto table = MakeTable(36);
  const uint64_t end = table->entry_count();
  EXPECT_EQ(table->NextTouched(0, end), end);
  const uint64_t run = uint64_t{300} << 12;
  ASSERT_TRUE(table->InsertAt(run + 5, kHpte));
  EXPECT_EQ(table->NextTouched(0, end), run);
  EXPECT_EQ(table->NextTouched(run - 1, end), run);
  EXPECT_EQ(table->NextTouched(run + 7, end), run + 7);
  EXPECT_EQ(table->NextTouched(run + 0x1000, end), end);
  EXPECT_EQ(table->NextTouched(0, run), run);
  EXPECT_EQ(table->NextTouched(3, 9), 9u);
  EXPECT_EQ(table->NextTouched(end, end), end);
  ASSERT_TRUE(table->InsertAt(end - 1, kHpte));
  EXPECT_EQ(table->NextTouched(run + 0x1000, end), end - 0x1000);
}

TEST(HashPageTable, InsertAtTakesOnlyAFreeSlot) {
  const auto table = MakeTable();
  EXPECT_TRUE(table->InsertAt(0x3ff5, kHpte));
  EXPECT_EQ(table->Read(0x3ff5), kHpte);
  EXPECT_FALSE(table->InsertAt(0x3ff5, {0x2f81, 0x12}));
  EXPECT_EQ(table->Read(0x3ff5), kHpte);
  // An entry that is not valid leaves its slot free.
  EXPECT_TRUE(table->InsertAt(0x10, {0x1f80, 0x99}));
  EXPECT_EQ(table->Read(0x10), (Hpte{0x1f80, 0x99}));
  EXPECT_TRUE(table->InsertAt(0x10, kHpte));
}

TEST(HashPageTable, InsertFirstFreeTakesTheLowestSlot) {
  const auto table = MakeTable();
  for (uint64_t slot = 0; slot < 8; ++slot) {
    EXPECT_EQ(table->InsertFirstFree(0x7fe, kHpte), 0x3ff0 + slot);
  }
  EXPECT_EQ(table->InsertFirstFree(0x7fe, kHpte), std::nullopt);
  table->Lock(0x3ff3).Store({0, 0});
  EXPECT_EQ(table->InsertFirstFree(0x7fe, kHpte), 0x3ff3u);
  EXPECT_EQ(table->InsertFirstFree(0x7ff, kHpte), 0x3ff8u);
}

TEST(HashPageTable, ALockedEntryStoresBothWords) {
  const auto table = MakeTable();
  {
    HashPageTable::LockedEntry entry = table->Lock(7);
    EXPECT_EQ(entry.ptex(), 7u);
    EXPECT_FALSE(entry.valid());
    entry.Store(kHpte);
    EXPECT_TRUE(entry.valid());
    EXPECT_EQ(entry.hpte(), kHpte);
  }
  EXPECT_EQ(table->Read(7), kHpte);
}

TEST(HashPageTable, TheLockDoesNotShow) {
  const auto table = MakeTable();
  ASSERT_TRUE(table->InsertAt(7, kHpte));
  const HashPageTable::LockedEntry entry = table->Lock(7);
  EXPECT_EQ(entry.v(), kHpte.v);
  EXPECT_EQ(table->PeekV(7), kHpte.v);
}

TEST(HashPageTable, TryLockIfValidWaitsForNobody) {
  const auto table = MakeTable();
  EXPECT_EQ(table->TryLockIfValid(7), std::nullopt);
  ASSERT_TRUE(table->InsertAt(7, kHpte));
  {
    const auto entry = table->TryLockIfValid(7);
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(table->TryLockIfValid(7), std::nullopt);
  }
  EXPECT_TRUE(table->TryLockIfValid(7).has_value());
}

TEST(HashPageTable, LockByHashSearchesPrimaryThenSecondary) {
  const auto table = MakeTable();
  // Hash 0xfffe: group 0x7fe, secondary group 0x1.
  ASSERT_TRUE(table->InsertAt(0x3ff7, kHpte));
  ASSERT_TRUE(table->InsertAt(0x8, {0x1f83, 0x1012}));
  EXPECT_EQ(table->LockByHash(0xfffe, 0x1f80)->ptex(), 0x3ff7u);
  EXPECT_EQ(table->LockByHash(0xfffe | ~uint64_t{0x7fffffffff}, 0x1f80)->ptex(), 0x3ff7u);
  table->Lock(0x3ff7).Store({0, 0});
  EXPECT_EQ(table->LockByHash(0xfffe, 0x1f80)->ptex(), 0x8u);
  table->Lock(0x8).Store({0, 0});
  EXPECT_FALSE(table->LockByHash(0xfffe, 0x1f80).has_value());
}

TEST(HashPageTable, LockByHashRequiresTheHashBitOfTheGroup) {
  const auto table = MakeTable();
  ASSERT_TRUE(table->InsertAt(0x3ff0, {0x1f83, 0x12}));  // H = 1 in the primary group
  ASSERT_TRUE(table->InsertAt(0x8, {0x1f81, 0x12}));     // H = 0 in the secondary group
  EXPECT_FALSE(table->LockByHash(0xfffe, 0x1f80).has_value());
  EXPECT_EQ(table->LockByHash(0xf801, 0x1f80)->ptex(), 0x8u);
}

TEST(HashPageTable, LockByHashComparesSegmentSizeAndEveryAvpnBit) {
  const auto table = MakeTable();
  ASSERT_TRUE(table->InsertAt(0x3ff0, kHpte));
  for (const uint64_t avpn : {0x1f00ul, 0x2000ul, 0x4000000000001f80ul, 0x0ul}) {
    EXPECT_FALSE(table->LockByHash(0xfffe, avpn).has_value()) << avpn;
  }
}

TEST(HashPageTable, ClearEmptiesTheTable) {
  for (const uint64_t empty_v : {uint64_t{0}, kVSoftwareDirty}) {
    const auto table = MakeTable(24, empty_v);
    for (uint64_t ptex = 0; ptex < table->entry_count(); ptex += 0x1001) {
      ASSERT_TRUE(table->InsertAt(ptex, kHpte));
    }
    table->Clear();
    for (uint64_t ptex = 0; ptex < table->entry_count(); ptex += 0x1001) {
      ASSERT_EQ(table->Read(ptex), table->empty_entry());
    }
    EXPECT_THAT(TouchedRuns(*table), IsEmpty());
    EXPECT_TRUE(table->InsertAt(0, kHpte));
  }
}

TEST(HashPageTable, TouchedRunsCoverEveryStoredEntryInOrder) {
  const auto table = MakeTable(30);
  const std::vector<uint64_t> stored = {0, 0x1234, 0x100000, table->entry_count() - 1};
  for (const uint64_t ptex : stored) ASSERT_TRUE(table->InsertAt(ptex, kHpte));
  std::vector<uint64_t> found;
  uint64_t end = 0;
  for (const auto& [first, count] : TouchedRuns(*table)) {
    EXPECT_GE(first, end);
    end = first + count;
    for (uint64_t ptex = first; ptex < end; ++ptex) {
      if (table->Read(ptex) == kHpte) found.push_back(ptex);
    }
  }
  EXPECT_EQ(found, stored);
  EXPECT_EQ(HashPageTable::kRunBytes, TouchedRuns(*table)[0].second * sizeof(Hpte));
  EXPECT_LE(table->touched_bytes(), stored.size() * HashPageTable::kRunBytes);
  EXPECT_GE(table->touched_bytes(), 3 * HashPageTable::kRunBytes);
}

// A 64 GB table that is barely used costs next to nothing.
TEST(HashPageTable, AnOrder36TableCostsOnlyWhatItTouches) {
  const uint64_t before = ResidentBytes();
  const auto table = MakeTable(36);
  constexpr uint64_t kEntries = 64;
  const uint64_t stride = table->entry_count() / kEntries;
  for (uint64_t i = 0; i < kEntries; ++i) {
    ASSERT_TRUE(table->InsertAt(i * stride + i, kHpte));
    ASSERT_TRUE(table->InsertFirstFree((i * stride + stride / 2) / 8, kHpte).has_value());
  }
  for (uint64_t i = 0; i < kEntries; ++i) EXPECT_EQ(table->Read(i * stride + i), kHpte);
  EXPECT_EQ(table->Read(table->entry_count() - 1), (Hpte{0, 0}));
  const uint64_t grown = ResidentBytes() - before;
  RecordProperty("resident_bytes", std::to_string(grown));
  // 128 entries, each on a page of its own; a host with huge pages may take more for one.
  EXPECT_LT(grown, uint64_t{32} << 20);
  table->Clear();
  EXPECT_EQ(table->Read(stride + 1), (Hpte{0, 0}));
}

TEST(HashPageTable, ATableLeavesNothingMapped) {
  MakeTable();  // what the first one needs once
  const uint64_t before = ReadMemoryUse().mapped;
  constexpr int kTables = 2000;
  for (int i = 0; i < kTables; ++i) MakeTable();
  EXPECT_LT(ReadMemoryUse().mapped, before + kTables * 4096 / 2);
}

TEST(HashPageTable, TheBudgetIsChargedUntilDestruction) {
  const auto budget = std::make_shared<MemoryBudget>(uint64_t{3} << 18);
  {
    const auto first = HashPageTable::Create(19, 0, budget);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_GE(budget->used(), uint64_t{1} << 19);
    const auto second = HashPageTable::Create(19, 0, budget);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(HashPageTable::Create(18, 0, budget).ok());
  }
  EXPECT_EQ(budget->used(), 0u);
}

// Whoever holds an entry's lock is alone with it.
TEST(HashPageTable, AFreeSlotThatIsLockedIsWaitedFor) {
  auto table = MakeTable();
  for (uint64_t ptex = 1; ptex < kHptesPerPteg; ++ptex) ASSERT_TRUE(table->InsertAt(ptex, kHpte));
  std::optional<HashPageTable::LockedEntry> held = table->Lock(0);
  std::optional<uint64_t> found;
  std::jthread other([&] {
    if (auto entry = table->LockFirstFree(0)) found = entry->ptex();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  held.reset();
  other.join();
  EXPECT_EQ(found, 0u);
}

TEST(HashPageTable, LocksExclude) {
  const auto table = MakeTable();
  ASSERT_TRUE(table->InsertAt(9, {1, 0}));
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        HashPageTable::LockedEntry entry = table->Lock(9);
        entry.Store({entry.v(), entry.r() + 1});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table->Read(9).r, uint64_t{kThreads} * kRounds);
}

// V and R of one entry are read as of one moment.
TEST(HashPageTable, ReadPairsBelongTogether) {
  const auto table = MakeTable();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 0; !stop; ++i) {
      const uint64_t tag = (i & 0xffff) << 12;
      table->Lock(9).Store({tag | 1, tag});
      table->Lock(9).Store({0, 0});
    }
  });
  for (int round = 0; round < 200'000; ++round) {
    const Hpte hpte = table->Read(9);
    if ((hpte.v & kVValid) != 0) {
      ASSERT_EQ(hpte.v & ~kVValid, hpte.r);
    }
  }
  stop = true;
  writer.join();
}

// Four threads that fill one group never get the same slot and leave none free.
TEST(HashPageTable, ConcurrentInsertsTakeDistinctSlots) {
  for (int round = 0; round < 500; ++round) {
    const auto table = MakeTable();
    std::array<std::atomic<int>, 8> taken{};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < 3; ++j) {
          const auto ptex = table->InsertFirstFree(0, kHpte);
          if (ptex.has_value()) {
            ++taken[*ptex];
          } else {
            ++refused;
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& count : taken) ASSERT_EQ(count, 1);
    ASSERT_EQ(refused, 1);
  }
}

}  // namespace
}  // namespace papr::mmu

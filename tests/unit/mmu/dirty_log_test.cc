#include "mmu/dirty_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace papr::mmu {
namespace {

using Take = DirtyLog::Take;

// Every marked page of [from, end), in the order of the answers.
std::vector<uint64_t> Ask(DirtyLog& log, uint64_t from, uint64_t end, Take take) {
  const std::lock_guard<std::mutex> question(log.question_mutex());
  std::vector<uint64_t> pages;
  for (uint64_t page = log.NextMarked(from, end); page < end; page = log.NextMarked(page, end)) {
    const uint64_t count = log.TakeRun(page, end, take);
    EXPECT_GT(count, 0u);
    for (uint64_t i = 0; i < count; ++i) pages.push_back(page++);
  }
  return pages;
}

TEST(DirtyLog, RunsCrossWords) {
  DirtyLog log(100'000);
  log.Mark(60, 200);
  const std::lock_guard<std::mutex> question(log.question_mutex());
  EXPECT_EQ(log.NextMarked(0, 100'000), 60u);
  EXPECT_EQ(log.NextMarked(0, 60), 60u);
  EXPECT_EQ(log.NextMarked(0, 59), 59u);
  EXPECT_EQ(log.TakeRun(60, 100'000, Take::kKeep), 200u);
  EXPECT_EQ(log.TakeRun(60, 130, Take::kYes), 70u);
  EXPECT_EQ(log.NextMarked(0, 100'000), 130u);
  EXPECT_EQ(log.TakeRun(130, 100'000, Take::kYes), 130u);
  EXPECT_EQ(log.NextMarked(0, 100'000), 100'000u);
}

TEST(DirtyLog, AnswersAreThoseOfASet) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  constexpr uint64_t kPages = 10'000;
  DirtyLog log(kPages);
  std::set<uint64_t> marked;
  for (int step = 0; step < 2'000; ++step) {
    const uint64_t first = random() % kPages;
    const uint64_t most = random() % 2 == 0 ? 3 : 300;
    const uint64_t count = std::min(kPages - first, 1 + random() % most);
    if (random() % 3 != 0) {
      log.Mark(first, count);
      for (uint64_t i = 0; i < count; ++i) marked.insert(first + i);
      continue;
    }
    const auto begin = marked.lower_bound(first);
    const auto end = marked.lower_bound(first + count);
    const Take take = random() % 2 == 0 ? Take::kYes : Take::kKeep;
    ASSERT_EQ(Ask(log, first, first + count, take), std::vector<uint64_t>(begin, end));
    if (take == Take::kYes) marked.erase(begin, end);
  }
  EXPECT_EQ(Ask(log, 0, kPages, Take::kYes), std::vector<uint64_t>(marked.begin(), marked.end()));
}

// 1 TB, a few pages marked: a question looks at the upper level only.
TEST(DirtyLog, LittleMemoryAndTimeForFewMarksInMuchRam) {
  constexpr uint64_t kPages = uint64_t{1} << 28;
  DirtyLog log(kPages);
  ASSERT_TRUE(log.ok());
  for (uint64_t i = 0; i < 8; ++i) log.Mark(i * (kPages / 8) + i, 1);
  EXPECT_EQ(Ask(log, 0, kPages, Take::kYes).size(), 8u);
  // Eight pages of the lower level; the upper one was read: 512 KB. A host may use huge pages.
  EXPECT_LT(log.resident_bytes(), uint64_t{20} << 20);
}

// Marks are set beside a thread that takes them: each mark that was made is taken in the end,
// though markers look before they write.
TEST(DirtyLog, NoMarkIsLost) {
  constexpr uint64_t kPages = 256;
  constexpr int kRounds = 200'000;
  DirtyLog log(kPages);
  // Pages are changed by giving them a number, and then marked; whoever takes a mark reads it.
  std::vector<std::atomic<int>> contents(kPages);
  std::vector<int> seen(kPages);
  std::atomic<bool> done{false};
  std::vector<std::thread> markers;
  for (int thread = 0; thread < 2; ++thread) {
    markers.emplace_back([&, thread] {
      for (int round = 1; round <= kRounds; ++round) {
        const auto page = static_cast<uint64_t>((round * 7 + thread) % 5 * 51);
        contents[page].fetch_add(1);
        log.Mark(page, 1);
      }
    });
  }
  std::thread taker([&] {
    while (!done) {
      for (const uint64_t page : Ask(log, 0, kPages, Take::kYes)) seen[page] = contents[page];
    }
  });
  for (std::thread& marker : markers) marker.join();
  done = true;
  taker.join();
  for (const uint64_t page : Ask(log, 0, kPages, Take::kYes)) seen[page] = contents[page];
  for (uint64_t page = 0; page < kPages; ++page) EXPECT_EQ(seen[page], contents[page]) << page;
}

}  // namespace
}  // namespace papr::mmu

#include "client/guest/tlb_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace papr::client::guest {
namespace {

using ::testing::ElementsAre;

// Notes how many pages went at a time; 1 stands for a single invalidation.
class CountingOps : public HashOps {
 public:
  uint64_t hash_mask() const override { return 0x7ff; }
  absl::StatusOr<std::optional<uint8_t>> Insert(uint64_t, const mmu::Hpte&) override {
    return std::nullopt;
  }
  absl::StatusOr<bool> Evict(uint64_t) override { return false; }
  absl::Status Invalidate(const HashedPage&) override {
    flushes.push_back(1);
    return absl::OkStatus();
  }
  absl::Status FlushRange(std::span<const HashedPage> pages) override {
    flushes.push_back(pages.size());
    return absl::OkStatus();
  }

  std::vector<size_t> flushes;
};

TEST(TlbBatchTest, ALazySectionGoesInBatchesOf192) {
  CountingOps ops;
  TlbBatch batch(&ops);
  batch.EnterLazyMode();
  for (int i = 0; i < 512; ++i) ASSERT_TRUE(batch.Queue({}).ok());
  ASSERT_TRUE(batch.LeaveLazyMode().ok());
  EXPECT_THAT(ops.flushes, ElementsAre(192, 192, 128));
}

TEST(TlbBatchTest, OnePageIsInvalidatedByItself) {
  CountingOps ops;
  TlbBatch batch(&ops);
  batch.EnterLazyMode();
  ASSERT_TRUE(batch.Queue({}).ok());
  ASSERT_TRUE(batch.LeaveLazyMode().ok());
  EXPECT_THAT(ops.flushes, ElementsAre(1));
}

TEST(TlbBatchTest, OutsideALazySectionEachPageGoesAtOnce) {
  CountingOps ops;
  TlbBatch batch(&ops);
  ASSERT_TRUE(batch.Queue({}).ok());
  ASSERT_TRUE(batch.Queue({}).ok());
  EXPECT_THAT(ops.flushes, ElementsAre(1, 1));
}

TEST(TlbBatchTest, AnEmptySectionSendsNothing) {
  CountingOps ops;
  TlbBatch batch(&ops);
  batch.EnterLazyMode();
  ASSERT_TRUE(batch.LeaveLazyMode().ok());
  EXPECT_THAT(ops.flushes, ElementsAre());
}

}  // namespace
}  // namespace papr::client::guest

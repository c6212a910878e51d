// Exports and imports while other threads issue hcalls.

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/hcall/htab_test_util.h"

namespace papr::hcall {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kReports = 1'000;
constexpr int kImports = 10;
constexpr int kResets = 100;
#else
constexpr uint64_t kReports = 10'000;
constexpr int kImports = 100;
constexpr int kResets = 1'000;
#endif

constexpr uint64_t kPtexes = 64;  // first of the table, which the threads fight for

class HtabConcurrencyTest : public testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<Partition> Make() {
    return MakePartition(std::string("order=18,ram=0:1G,profile=") + GetParam());
  }

  // Changes entries at random until told to stop.
  void Load(uint32_t seed) {
    std::mt19937 random(seed);
    while (!stop_.load(std::memory_order_relaxed)) {
      const uint64_t ptex = random() % kPtexes;
      const uint64_t v = (random() % 4 + 1) << 12 | (random() % 2 != 0 ? mmu::kVBolted : 0) | 1;
      switch (random() % 7) {
        case 0:
        case 1:
          Call(*partition_, kHEnter, {kFlagExact, ptex, v, 0x1234012 | (random() % 2 << 8)});
          break;
        case 2:
          Call(*partition_, kHRemove, {0, ptex, 0});
          break;
        case 3:
          Call(*partition_, kHProtect, {random() % 4, ptex, 0});
          break;
        case 4:
          Call(*partition_, random() % 2 != 0 ? kHClearMod : kHClearRef, {0, ptex});
          break;
        case 5: {
          const ReferenceChange update = {ptex, true, random() % 2 != 0};
          size_t applied = 0;
          partition_->SetReferenceChange({&update, 1}, &applied).IgnoreError();
          break;
        }
        default:
          Call(*partition_, kHBulkRemove, {0x4000000000000000 | ptex, 0, 0xc000000000000000});
      }
    }
  }

  void Start(int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i] { Load(static_cast<uint32_t>(i)); });
    }
  }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void TearDown() override { Stop(); }

  const std::unique_ptr<Partition> partition_ = Make();
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

INSTANTIATE_TEST_SUITE_P(Profiles, HtabConcurrencyTest, testing::Values("kvm-hv", "qemu-tcg"),
                         [](const auto& param) {
                           return param.param == std::string("kvm-hv") ? "KvmHv" : "QemuTcg";
                         });

// hpt-format 8.3: read until nothing comes, the last time with the guest at rest.
TEST_P(HtabConcurrencyTest, PassesUnderLoadAndOneAtRestGiveTheTable) {
  const auto copy = Make();
  HtabImport to(*copy, std::endian::little);
  Start(3);
  const auto from = OpenExport(*partition_);
  const auto pass = [&](size_t count) {
    const std::string stream = ReadPass(*from, count);
    const auto consumed = to.Write(stream);
    ASSERT_TRUE(consumed.ok()) << consumed.status();
    ASSERT_EQ(*consumed, stream.size());
  };
  // Until the load has been one, also where all threads share a processor.
  for (int i = 0; to.counts().stored < kReports && !HasFailure(); ++i) {
    pass(i % 2 == 0 ? 100 : 4096);
  }
  Stop();
  pass(4096);
  EXPECT_EQ(ReadOnce(*from, 4096), "");
  EXPECT_EQ(TableOf(*copy), TableOf(*partition_));
}

// Only the guest's own entries differ from what an import stores beside it.
TEST_P(HtabConcurrencyTest, AnImportGoesOnBesideHcalls) {
  std::string record(mmu::kHtabHeaderBytes + 1024 * mmu::kHtabEntryBytes, '\0');
  mmu::EncodeHtabHeader({0x1000, 1024, 1024}, std::endian::little, record.data());
  for (size_t i = 0; i < 1024; ++i) {
    mmu::EncodeHtabEntry({0x1f81, 0xfff012}, &record[mmu::kHtabHeaderBytes + i * 16]);
  }
  Start(2);
  HtabImport to(*partition_, std::endian::little);
  for (int i = 0; i < kImports; ++i) {
    const auto consumed = to.Write(record);
    ASSERT_TRUE(consumed.ok()) << consumed.status();
    EXPECT_EQ(*consumed, record.size());
  }
  Stop();
  for (uint64_t ptex = 0x1000; ptex < 0x1400; ++ptex) {
    EXPECT_NE(Call(*partition_, kHRead, {0, ptex}).registers[0] & 1, 0u) << ptex;
  }
}

TEST_P(HtabConcurrencyTest, ResetsEndExportsAtAnyMoment) {
  Start(1);
  std::atomic<bool> done{false};
  std::atomic<int> aborted{0};
  std::thread resets([&] {
    for (int i = 0; i < kResets || aborted == 0; ++i) {
      EXPECT_TRUE(partition_->Reset(18 + i % 2).ok());
    }
    done = true;
  });
  while (!done) {
    const auto from = OpenExport(*partition_);
    char buffer[200];
    for (int i = 0; i < 20; ++i) {
      const auto result = from->Read(buffer);
      if (result.ok()) continue;
      EXPECT_EQ(result.status().code(), absl::StatusCode::kAborted);
      ++aborted;
      break;
    }
  }
  resets.join();
  EXPECT_GT(aborted, 0);
  EXPECT_TRUE(partition_->export_marks().expired());
}

}  // namespace
}  // namespace papr::hcall

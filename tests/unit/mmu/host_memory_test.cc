#include "mmu/host_memory.h"

#include <cstring>
#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace papr::mmu {
namespace {

constexpr uint64_t kHuge = HostMemory::kHugePageBytes;

bool HostOffersHugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  return std::getline(file, line) && line.find("[never]") == std::string::npos;
}

TEST(HostMemory, IsZeroAndAgainAfterZero) {
  for (const auto huge : {HostMemory::HugePages::kNo, HostMemory::HugePages::kIfPossible}) {
    HostMemory memory(2 * kHuge, huge);
    ASSERT_NE(memory.data(), nullptr);
    auto* bytes = static_cast<unsigned char*>(memory.data());
    for (const uint64_t at : {uint64_t{0}, kHuge - 1, kHuge, 2 * kHuge - 1}) {
      EXPECT_EQ(bytes[at], 0);
      bytes[at] = 1;
    }
    memory.Zero();
    for (const uint64_t at : {uint64_t{0}, kHuge - 1, kHuge, 2 * kHuge - 1}) {
      EXPECT_EQ(bytes[at], 0);
    }
  }
}

TEST(HostMemory, HugePagesAreAlignedAndSaidToBeThere) {
  const HostMemory memory(4 * kHuge, HostMemory::HugePages::kIfPossible);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % kHuge, 0u);
  EXPECT_EQ(memory.huge_pages(), HostOffersHugePages());
}

// What is smaller than a huge page, or not asked for, gets none.
TEST(HostMemory, NoHugePagesWhereTheyDoNotFit) {
  EXPECT_FALSE(HostMemory(uint64_t{256} << 10, HostMemory::HugePages::kIfPossible).huge_pages());
  EXPECT_FALSE(HostMemory(4 * kHuge, HostMemory::HugePages::kNo).huge_pages());
}

TEST(HostMemory, MoreThanTheHostHasIsNull) {
  EXPECT_EQ(HostMemory(uint64_t{1} << 62, HostMemory::HugePages::kIfPossible).data(), nullptr);
  EXPECT_EQ(HostMemory(uint64_t{1} << 62, HostMemory::HugePages::kNo).data(), nullptr);
}

TEST(HostMemory, MovesTakeTheMemoryAlong) {
  HostMemory memory(kHuge, HostMemory::HugePages::kNo);
  void* const data = memory.data();
  HostMemory other = std::move(memory);
  EXPECT_EQ(other.data(), data);
  EXPECT_EQ(other.bytes(), kHuge);
  std::memset(other.data(), 1, kHuge);
}

}  // namespace
}  // namespace papr::mmu

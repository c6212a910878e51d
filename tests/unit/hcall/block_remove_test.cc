// What of H_BLOCK_REMOVE a script cannot show: an entry whose lock another processor holds.

#include "gtest/gtest.h"
#include "tests/unit/hcall/test_partition.h"

namespace papr::hcall {
namespace {

TEST(BlockRemove, ALockedEntryIsReportedBusyAndNotWaitedFor) {
  const auto partition = MakePartition("order=24,ram=0:1G");
  constexpr uint64_t kPtex = 0xb3c43;
  constexpr mmu::Hpte kHpte = {0x0000123456789001, 0x0000000001234012};
  ASSERT_EQ(Call(*partition, kHEnter, {kFlagExact, kPtex, kHpte.v, kHpte.r}).return_code,
            kHSuccess);
  const uint64_t avpn = 0x0000123456789000;
  {
    const auto locked = partition->table().Lock(kPtex);
    const HcallResult result =
        Call(*partition, kHBlockRemove,
             {avpn, 0x41000000000b3c43, 0x41000000000b3c58, 0xc000000000000000});
    EXPECT_EQ(result.return_code, kHPartial);
    EXPECT_EQ(result.registers[0], 0xa1000000000b3c43);
    EXPECT_EQ(result.registers[1], 0x89000000000b3c58);
  }
  EXPECT_EQ(partition->table().Read(kPtex), kHpte);
  const HcallResult retried =
      Call(*partition, kHBlockRemove, {avpn, 0x41000000000b3c43, 0xc000000000000000});
  EXPECT_EQ(retried.return_code, kHSuccess);
  EXPECT_EQ(retried.registers[0], 0x81000000000b3c43);
}

}  // namespace
}  // namespace papr::hcall

#include "client/guest/mm_context.h"

#include <gtest/gtest.h>

#include "mmu/page_size.h"
#include "mmu/virtual_address.h"

namespace papr::client::guest {
namespace {

struct Example {
  uint64_t context;
  uint64_t address;
  int base_shift;
  uint64_t proto_vsid;
  uint64_t vsid;
  uint64_t vpn;
  uint64_t hash;
  uint64_t avpn_word;
};

// Worked by hand for a 68-bit virtual address space.
constexpr Example kExamples[] = {
    {9, 0x10000000, 16, 0x1200001, 0x3af4df51b0, 0x3af4df51b00000, 0x3af4df51b0,
     0x0003af4df51b0000},
    {9, 0x7fff00000000, 16, 0x127f, 0x2985e84, 0x2985e84ff00000, 0x3d0a675e84, 0x4002985e84ff0000},
    {10, 0x7fff00000000, 16, 0x147f, 0x13a109c, 0x13a109cff00000, 0x2139c5109c, 0x40013a109cff0000},
    {100, 0x7fff00010000, 16, 0xc87f, 0x612ad04, 0x612ad04ff00010, 0x5a0eedad05,
     0x400612ad04ff0000},
    {100, 0x7fff00010000, 12, 0xc87f, 0x612ad04, 0x612ad04ff00010, 0x5a01e2ad14,
     0x400612ad04ff0000},
    {100, 0x7fff01000000, 24, 0xc87f, 0x612ad04, 0x612ad04ff01000, 0x5a0e125205,
     0x400612ad04ff0100},
    {524286, 0x10000000000, 16, 0xffffc01, 0x43b3d82, 0x43b3d820000000, 0x7b003b3d82,
     0x40043b3d82000000},
    {1, 0xc000000000000000, 24, 0x200, 0xea1b217, 0xea1b2170000000, 0x6420a1b217,
     0x400ea1b217000000},
    {5, 0xc008000000000000, 16, 0xa00, 0x9287a77, 0x9287a770000000, 0x74e7287a77,
     0x4009287a77000000},
};

TEST(MmContextTest, WorkedExamples) {
  for (const Example& example : kExamples) {
    SCOPED_TRACE(example.address);
    const mmu::VirtualAddress va = VirtualAddressOf(example.context, example.address);
    EXPECT_EQ(ProtoVsid(example.context, example.address, va.segment), example.proto_vsid);
    EXPECT_EQ(va.vsid, example.vsid);
    EXPECT_EQ(mmu::Vpn(va), example.vpn);
    EXPECT_EQ(mmu::Hash(va, example.base_shift), example.hash);
    EXPECT_EQ(mmu::AvpnWord(va, example.base_shift), example.avpn_word);
  }
}

TEST(MmContextTest, ScramblingIsTheProductModuloAllOnes) {
  for (const auto segment : {mmu::SegmentSize::k256M, mmu::SegmentSize::k1T}) {
    const int bits = 68 - mmu::SegmentShift(segment);
    const uint64_t modulus = (uint64_t{1} << bits) - 1;
    for (uint64_t proto : {uint64_t{1}, uint64_t{12345}, modulus - 1, modulus / 3}) {
      const uint64_t product = proto * 12538073;  // below 2^64 for any 40-bit number
      EXPECT_EQ(ScrambleVsid(proto, segment), product % modulus);
    }
  }
}

TEST(MmContextTest, SegmentsAreLargeFromOneTerabyteOn) {
  EXPECT_EQ(SegmentSizeOf(0), mmu::SegmentSize::k256M);
  EXPECT_EQ(SegmentSizeOf((uint64_t{1} << 40) - 1), mmu::SegmentSize::k256M);
  EXPECT_EQ(SegmentSizeOf(uint64_t{1} << 40), mmu::SegmentSize::k1T);
}

}  // namespace
}  // namespace papr::client::guest

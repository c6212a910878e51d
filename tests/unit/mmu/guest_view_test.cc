// The addresses of a Linux guest, as its own arithmetic gives them, against ours: VSID to VPN,
// hash, groups of a 2^24-byte table and AVPN word.

#include "gtest/gtest.h"
#include "mmu/virtual_address.h"

namespace papr::mmu {
namespace {

TEST(GuestView, WorkedNumbers) {
  struct Row {
    const char* what;
    uint64_t ea;
    SegmentSize segment;
    int base;
    uint64_t vsid, vpn, hash, primary, secondary, avpn;
  };
  constexpr SegmentSize k256 = SegmentSize::k256M;
  constexpr SegmentSize k1T = SegmentSize::k1T;
  constexpr Row kRows[] = {{"context 9", 0x10000000, k256, k64K, 0x3af4df51b0, 0x3af4df51b00000,
                            0x3af4df51b0, 0x151b0, 0xae4f, 0x0003af4df51b0000},
                           {"context 9, 1T", 0x7fff00000000, k1T, k64K, 0x2985e84, 0x2985e84ff00000,
                            0x3d0a675e84, 0x15e84, 0xa17b, 0x4002985e84ff0000},
                           {"context 10", 0x7fff00000000, k1T, k64K, 0x13a109c, 0x13a109cff00000,
                            0x2139c5109c, 0x1109c, 0xef63, 0x40013a109cff0000},
                           {"context 100, 64K", 0x7fff00010000, k1T, k64K, 0x612ad04,
                            0x612ad04ff00010, 0x5a0eedad05, 0x1ad05, 0x52fa, 0x400612ad04ff0000},
                           {"context 100, 4K", 0x7fff00010000, k1T, k4K, 0x612ad04,
                            0x612ad04ff00010, 0x5a01e2ad14, 0xad14, 0x152eb, 0x400612ad04ff0000},
                           {"context 100, 16M", 0x7fff01000000, k1T, k16M, 0x612ad04,
                            0x612ad04ff01000, 0x5a0e125205, 0x5205, 0x1adfa, 0x400612ad04ff0100},
                           {"context 524286", 0x10000000000, k1T, k64K, 0x43b3d82, 0x43b3d820000000,
                            0x7b003b3d82, 0x13d82, 0xc27d, 0x40043b3d82000000},
                           {"linear map", 0xc000000000000000, k1T, k16M, 0xea1b217,
                            0xea1b2170000000, 0x6420a1b217, 0x1b217, 0x4de8, 0x400ea1b217000000},
                           {"vmalloc", 0xc008000000000000, k1T, k64K, 0x9287a77, 0x9287a770000000,
                            0x74e7287a77, 0x7a77, 0x18588, 0x4009287a77000000}};
  constexpr uint64_t kMask = 0x1ffff;
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    const VirtualAddress va = MakeVirtualAddress(row.segment, row.vsid, row.ea);
    EXPECT_EQ(Vpn(va), row.vpn);
    EXPECT_EQ(Hash(va, row.base), row.hash);
    EXPECT_EQ(Hash(va, row.base) & kMask, row.primary);
    EXPECT_EQ(~Hash(va, row.base) & kMask, row.secondary);
    EXPECT_EQ(AvpnWord(va, row.base), row.avpn);
  }
}

}  // namespace
}  // namespace papr::mmu

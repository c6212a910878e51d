// Mappings worked out by hand, A to L: the address, and every number that follows from it. Each
// holds for the functions of mmu/virtual_address.h and mmu/page_size.h in both directions.

#ifndef TESTS_UNIT_MMU_WORKED_EXAMPLES_H_
#define TESTS_UNIT_MMU_WORKED_EXAMPLES_H_

#include <cstdint>
#include <ostream>

#include "mmu/page_size.h"
#include "mmu/virtual_address.h"

namespace papr::mmu {

struct WorkedExample {
  const char* id;
  SegmentSize segment;
  PageSizes sizes;
  uint64_t vsid;
  uint64_t ea;
  int order;
  uint64_t vpn;
  uint64_t hash;
  uint64_t avpn;
  Hpte hpte;                // valid, M = 1, PP = 2
  uint64_t primary_ptex;    // first of the group
  uint64_t secondary_ptex;  // first of the group
  uint64_t rb;              // of tlbie
};

inline std::ostream& operator<<(std::ostream& out, const WorkedExample& example) {
  return out << example.id;
}

inline constexpr WorkedExample kWorkedExamples[] = {
    {"A",
     SegmentSize::k256M,
     {k4K, k4K},
     0x123456789,
     0x10001000,
     24,
     0x1234567890001,
     0x0123456788,
     0x0000123456789000,
     {0x0000123456789001, 0x0000000001234012},
     0xb3c40,
     0x4c3b8,
     0x1234567890001000},
    {"B",
     SegmentSize::k256M,
     {k64K, k64K},
     0x123456789,
     0x10345678,
     24,
     0x1234567890345,
     0x01234567bd,
     0x0000123456789000,
     {0x0000123456789005, 0x0000000002341012},
     0xb3de8,
     0x4c210,
     0x1234567890341041},
    {"C",
     SegmentSize::k256M,
     {k16M, k16M},
     0x123456789,
     0x1345678a,
     24,
     0x1234567893456,
     0x012345678a,
     0x0000123456789300,
     {0x0000123456789305, 0x0000000007000012},
     0xb3c50,
     0x4c3a8,
     0x1234567893000001},
    {"D",
     SegmentSize::k1T,
     {k4K, k4K},
     0xabcdef,
     0x12345678000,
     24,
     0xabcdef2345678,
     0x1bdc9f9b97,
     0x4000abcdef234500,
     {0x4000abcdef234501, 0x0000000000042012},
     0xcdcb8,
     0x32340,
     0xabcdef2345678100},
    {"E",
     SegmentSize::k1T,
     {k64K, k64K},
     0x408a66,
     0xc000000012345678,
     26,
     0x408a660012345,
     0x14cc409852,
     0x4000408a66001200,
     {0x4000408a66001205, 0x0000000012341012},
     0x4c290,
     0x3b3d68,
     0x408a660012341141},
    {"F",
     SegmentSize::k1T,
     {k16M, k16M},
     0x408a66,
     0xc0000000f2345678,
     26,
     0x408a6600f2345,
     0x14cc408a94,
     0x4000408a6600f200,
     {0x4000408a6600f205, 0x00000000f2000012},
     0x454a0,
     0x3bab58,
     0x408a6600f2000101},
    {"G",
     SegmentSize::k1T,
     {k16M, k16M},
     0x1ffffff,
     0x5000000,
     24,
     0x1ffffff0005000,
     0x7ffffffffa,
     0x4001ffffff000500,
     {0x4001ffffff000505, 0x0000000005000012},
     0xfffd0,
     0x28,
     0xffffff0005000101},
    {"H",
     SegmentSize::k256M,
     {k4K, k64K},
     0x123456789,
     0x10345678,
     24,
     0x1234567890345,
     0x01234564cc,
     0x0000123456789000,
     {0x0000123456789005, 0x0000000002347012},
     0xb2660,
     0x4d998,
     0x12345678903450a0},
    {"I",
     SegmentSize::k1T,
     {k64K, k16M},
     0x408a66,
     0x7fff12345678,
     26,
     0x408a66ff12345,
     0x14ccbf9852,
     0x4000408a66ff1200,
     {0x4000408a66ff1205, 0x0000000045008012},
     0x3cc290,
     0x33d68,
     0x408a66ff12008141},
    {"J",
     SegmentSize::k256M,
     {k4K, k16M},
     0x7fffffffff,
     0xfedcba9,
     18,
     0x7ffffffffffedc,
     0x7fffff0123,
     0x0007ffffffffff80,
     {0x0007ffffffffff85, 0x0000000003038012},
     0x918,
     0x36e0,
     0xffffffffffedc080},
    {"K",
     SegmentSize::k1T,
     {k16G, k16G},
     0x1555555,
     0x5712345678,
     30,
     0x15555555712345,
     0x2aab555540,
     0x4001555555540000,
     {0x4001555555540005, 0x0000000400003012},
     0x2aaaa00,
     0x15555f8,
     0x5555555400003101},
    {"L",
     SegmentSize::k256M,
     {k4K, k4K},
     0x1,
     0xffff000,
     18,
     0x1ffff,
     0x000000fffe,
     0x0000000000001f80,
     {0x0000000000001f81, 0x0000000000fff012},
     0x3ff0,
     0x8,
     0x000000001ffff000},
};

}  // namespace papr::mmu

#endif  // TESTS_UNIT_MMU_WORKED_EXAMPLES_H_

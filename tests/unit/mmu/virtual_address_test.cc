#include "mmu/virtual_address.h"

#include <random>

#include "gtest/gtest.h"
#include "mmu/hash_page_table.h"
#include "tests/unit/mmu/worked_examples.h"

namespace papr::mmu {
namespace {

constexpr uint64_t HashMaskOfOrder(int order) { return (uint64_t{1} << (order - 7)) - 1; }

uint64_t PrimaryPtex(uint64_t hash, int order) { return (hash & HashMaskOfOrder(order)) * 8; }
uint64_t SecondaryPtex(uint64_t hash, int order) { return (~hash & HashMaskOfOrder(order)) * 8; }

class WorkedExampleTest : public testing::TestWithParam<WorkedExample> {
 protected:
  const WorkedExample& example() { return GetParam(); }
  VirtualAddress Va() {
    return MakeVirtualAddress(example().segment, example().vsid, example().ea);
  }
  Hpte Secondary() { return {example().hpte.v | kVSecondary, example().hpte.r}; }
};

TEST_P(WorkedExampleTest, Encodes) {
  const int base = example().sizes.base;
  EXPECT_EQ(Vpn(Va()), example().vpn);
  EXPECT_EQ(Hash(Va(), base), example().hash);
  EXPECT_EQ(AvpnWord(Va(), base), example().avpn);
  EXPECT_EQ(PrimaryPtex(example().hash, example().order), example().primary_ptex);
  EXPECT_EQ(SecondaryPtex(example().hash, example().order), example().secondary_ptex);
  const uint64_t large = example().sizes.actual > k4K ? kVLarge : 0;
  EXPECT_EQ(AvpnWord(Va(), base) | large | kVValid, example().hpte.v);
  const auto lp = PageSizeTable::Power().LpOf(example().sizes);
  ASSERT_TRUE(lp.has_value());
  EXPECT_EQ(EncodeR(example().hpte.r & kRRpn, example().sizes.actual, *lp, 0x12), example().hpte.r);
}

TEST_P(WorkedExampleTest, Decodes) {
  EXPECT_EQ(PageSizeTable::Power().Decode(example().hpte.v, example().hpte.r), example().sizes);
  EXPECT_TRUE(MatchesAvpn(example().hpte.v, example().avpn));
}

// From every slot of the primary and of the secondary group, at every order.
TEST_P(WorkedExampleTest, RecoversTheVirtualAddress) {
  const int base = example().sizes.base;
  VirtualAddress page = Va();
  page.offset &= ~((uint64_t{1} << base) - 1);
  for (int order = kMinHptOrder; order <= kMaxHptOrder; ++order) {
    const uint64_t mask = HashMaskOfOrder(order);
    for (uint64_t slot = 0; slot < 8; ++slot) {
      const uint64_t primary = PrimaryPtex(example().hash, order) + slot;
      const uint64_t secondary = SecondaryPtex(example().hash, order) + slot;
      EXPECT_EQ(RecoverVirtualAddress(example().hpte, primary, base), page) << order;
      EXPECT_EQ(RecoverVirtualAddress(Secondary(), secondary, base), page) << order;
      EXPECT_TRUE(HashesTo(example().hpte, primary, base, mask)) << order;
      EXPECT_TRUE(HashesTo(Secondary(), secondary, base, mask)) << order;
      // With H the other way round it is another page of the AVPN, or, where the group has more
      // bits than the AVPN leaves open, none at all.
      EXPECT_EQ(HashesTo(Secondary(), primary, base, mask), base == k4K && order == 18) << order;
      EXPECT_EQ(RehashHash(example().hpte, primary, base, mask), example().hash) << order;
      EXPECT_EQ(RehashHash(Secondary(), secondary, base, mask), example().hash) << order;
    }
  }
}

TEST_P(WorkedExampleTest, TlbieOperandFromEitherGroup) {
  EXPECT_EQ(TlbieOperand(example().hpte, example().primary_ptex + 3, example().sizes),
            example().rb);
  EXPECT_EQ(TlbieOperand(Secondary(), example().secondary_ptex + 5, example().sizes), example().rb);
  // Whatever the software bits are.
  const Hpte marked = {example().hpte.v | kVHypervisor | kVBolted | 0x8, example().hpte.r};
  EXPECT_EQ(TlbieOperand(marked, example().primary_ptex, example().sizes), example().rb);
}

// The page number bits that the AVA part of the operand lacks stand in bits 1 to 7, from the size
// of the base page on.
TEST(VirtualAddress, TlbieOperandHasEveryLowPageNumberBit) {
  for (int bit = 0; bit < 4; ++bit) {
    const VirtualAddress va = {SegmentSize::k256M, 0, uint64_t{0x10000} << bit};
    const Hpte hpte = {AvpnWord(va, k64K) | kVLarge | kVValid, 0x1000};
    const uint64_t rb = TlbieOperand(hpte, PrimaryPtex(Hash(va, k64K), 24), {k64K, k64K});
    EXPECT_EQ(rb & 0xfe, uint64_t{0x10} << bit) << bit;
  }
  const VirtualAddress va = {SegmentSize::k256M, 0, 0x2000};  // 8K pages, which no processor has
  const Hpte hpte = {AvpnWord(va, 13) | kVLarge | kVValid, 0};
  EXPECT_EQ(TlbieOperand(hpte, PrimaryPtex(Hash(va, 13), 24), {13, 13}) & 0xfe, 0x2u);
}

INSTANTIATE_TEST_SUITE_P(All, WorkedExampleTest, testing::ValuesIn(kWorkedExamples),
                         [](const auto& param) { return param.param.id; });

TEST(VirtualAddress, GroupsOfOneMappingAtOtherOrders) {
  struct Row {
    uint64_t hash;
    int order;
    uint64_t primary, secondary;
  };
  constexpr Row kRows[] = {
      {0x0123456788, 18, 0x3c40, 0x3b8},        {0x0123456788, 20, 0x3c40, 0xc3b8},
      {0x0123456788, 24, 0xb3c40, 0x4c3b8},     {0x0123456788, 26, 0x2b3c40, 0x14c3b8},
      {0x0123456788, 30, 0x22b3c40, 0x1d4c3b8}, {0x14cc409852, 18, 0x290, 0x3d68},
      {0x14cc409852, 20, 0xc290, 0x3d68},       {0x14cc409852, 24, 0x4c290, 0xb3d68},
      {0x14cc409852, 26, 0x4c290, 0x3b3d68},    {0x14cc409852, 30, 0x204c290, 0x1fb3d68},
      {0x7fffff0123, 18, 0x918, 0x36e0},        {0x7fffff0123, 20, 0x918, 0xf6e0},
      {0x7fffff0123, 24, 0x80918, 0x7f6e0},     {0x7fffff0123, 26, 0x380918, 0x7f6e0},
      {0x7fffff0123, 30, 0x3f80918, 0x7f6e0}};
  for (const Row& row : kRows) {
    EXPECT_EQ(PrimaryPtex(row.hash, row.order), row.primary) << row.hash << " at " << row.order;
    EXPECT_EQ(SecondaryPtex(row.hash, row.order), row.secondary) << row.hash << " at " << row.order;
  }
}

TEST(VirtualAddress, PagesOfOneAvpnWithDifferentBaseSizesDiffer) {
  // B and H: the same segment and address, 64K and 4K base pages.
  EXPECT_EQ(kWorkedExamples[1].hpte.v, kWorkedExamples[7].hpte.v);
  EXPECT_NE(kWorkedExamples[1].hash, kWorkedExamples[7].hash);
}

// With the smallest table alone two 4K pages of one AVPN can have complementary groups.
TEST(VirtualAddress, ComplementaryGroupsOfOneAvpn) {
  const VirtualAddress one = MakeVirtualAddress(SegmentSize::k256M, 1, 0x0ffff000);
  const VirtualAddress other = MakeVirtualAddress(SegmentSize::k256M, 1, 0x0f800000);
  EXPECT_EQ(Hash(one, k4K), 0xfffeu);
  EXPECT_EQ(Hash(other, k4K), 0xf801u);
  EXPECT_EQ(AvpnWord(one, k4K), 0x1f80u);
  EXPECT_EQ(AvpnWord(other, k4K), 0x1f80u);
  EXPECT_EQ(SecondaryPtex(0xfffe, 18), PrimaryPtex(0xf801, 18));
  EXPECT_NE(SecondaryPtex(0xfffe, 19), PrimaryPtex(0xf801, 19));
  // H says which of the two an entry of that group is.
  EXPECT_EQ(RecoverVirtualAddress({0x1f83, 0}, 0x8, k4K), one);
  EXPECT_EQ(RecoverVirtualAddress({0x1f81, 0}, 0x8, k4K), other);
}

TEST(VirtualAddress, GroupsThatCollideWhenShrinking) {
  const uint64_t one = Hash(MakeVirtualAddress(SegmentSize::k256M, 0x100, 0x1000), k4K);
  const VirtualAddress other_va = MakeVirtualAddress(SegmentSize::k256M, 0x100, 0x801000);
  const uint64_t other = Hash(other_va, k4K);
  EXPECT_EQ(one, 0x101u);
  EXPECT_EQ(other, 0x901u);
  EXPECT_EQ(AvpnWord(other_va, k4K), 0x100080u);
  EXPECT_EQ(PrimaryPtex(one, 19), 0x808u);
  EXPECT_EQ(PrimaryPtex(other, 19), 0x4808u);
  EXPECT_EQ(PrimaryPtex(one, 18), PrimaryPtex(other, 18));
}

// An entry that does not sit where its address hashes to keeps its group where it can.
TEST(VirtualAddress, RehashOfMisplacedEntries) {
  EXPECT_EQ(RehashHash({0x1011, 0}, 0x1468 * 8, k4K, HashMaskOfOrder(22)) & HashMaskOfOrder(20),
            0x1468u);
  EXPECT_EQ(
      RehashHash({0x1015, 0x1012}, 0x468 * 8, k64K, HashMaskOfOrder(18)) & HashMaskOfOrder(20),
      0x468u);
  // For 16 MB pages the AVPN alone gives the hash, wherever the entry is.
  EXPECT_EQ(RehashHash({0x1000015, 0x12}, 2, k16M, HashMaskOfOrder(18)),
            RehashHash({0x1000015, 0x12}, 10, k16M, HashMaskOfOrder(18)));
}

TEST(VirtualAddress, Order46NeedsEveryHashBit) {
  EXPECT_EQ(HashMaskOfOrder(46), kHashMask);
  EXPECT_EQ(HashMaskOfOrder(18), 0x7ffu);
  const VirtualAddress va =
      MakeVirtualAddress(SegmentSize::k256M, (uint64_t{1} << 50) - 1, 0xffff000);
  EXPECT_LE(Hash(va, k4K), kHashMask);
  EXPECT_EQ(PrimaryPtex(kHashMask, 46) + 7, (uint64_t{1} << 42) - 1);  // the last entry
}

// The entries that a hypervisor makes for real mode: 1 TB segment, VSID 0x1ffffff, slot 7.
TEST(VirtualAddress, VirtualRealModeArea) {
  const uint64_t page = 5;
  const VirtualAddress va = MakeVirtualAddress(SegmentSize::k1T, 0x1ffffff, page << k16M);
  EXPECT_EQ(PrimaryPtex(Hash(va, k16M), 24) + 7, 0xfffd7u);
  EXPECT_EQ(AvpnWord(va, k16M) | kVBolted | kVLarge | kVValid, 0x4001ffffff000515u);
  const uint32_t lp = PageSizeTable::Power().LpOf({k16M, k16M}).value();
  EXPECT_EQ(EncodeR(page << k16M, k16M, lp, 0x190), 0x5000190u);
}

TEST(VirtualAddress, PagesOfDifferentSegmentsDiffer) {
  const VirtualAddress va{SegmentSize::k256M, 0x2000000000001, 0x3ab678};
  EXPECT_EQ(RoundDown(va, k4K), (VirtualAddress{SegmentSize::k256M, 0x2000000000001, 0x3ab000}));
  EXPECT_EQ(RoundDown(va, k64K), (VirtualAddress{SegmentSize::k256M, 0x2000000000001, 0x3a0000}));
  // A 4K page number of 66 bits does not fit one word: the VSID's top bits must still count.
  const VirtualAddress other{SegmentSize::k256M, 0x1, 0x3ab678};
  EXPECT_NE(RoundDown(va, k4K), RoundDown(other, k4K));
  // A 16G page takes all of a 256 MB segment.
  EXPECT_EQ(RoundDown(va, k16G).offset, 0u);
  EXPECT_EQ(RoundDown({SegmentSize::k256M, 1, 0x3abfff}, k4K).offset, 0x3ab000u);
}

// Of a large page all addresses have the AVPN of the first.
TEST(VirtualAddress, AvpnOfAnAddressInsideAPage) {
  EXPECT_EQ(AvpnWord({SegmentSize::k256M, 1, 0x1ffffff}, k16M), 0x1100u);
  EXPECT_EQ(AvpnWord({SegmentSize::k1T, 1, 0x7ffffffff}, k16G), 0x4000000001040000u);
}

// Any page of any segment is recovered from V and its place, at any order, in either group.
TEST(VirtualAddress, RecoveryOfRandomPages) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  constexpr int kBases[] = {k4K, k64K, 22, 23, k16M, k16G};  // two that no processor has
  for (int round = 0; round < 200'000; ++round) {
    const SegmentSize segment = random() % 2 == 0 ? SegmentSize::k256M : SegmentSize::k1T;
    const int base = kBases[random() % (segment == SegmentSize::k1T ? 6 : 5)];
    const uint64_t vsid = random() & ((uint64_t{1} << (segment == SegmentSize::k1T ? 38 : 50)) - 1);
    VirtualAddress va = MakeVirtualAddress(segment, vsid, random());
    va.offset &= ~((uint64_t{1} << base) - 1);
    const int order = kMinHptOrder + static_cast<int>(random() % 29);
    const bool secondary = random() % 2 == 0;
    const uint64_t hash = Hash(va, base);
    const uint64_t ptex = secondary ? SecondaryPtex(hash, order) : PrimaryPtex(hash, order);
    const Hpte hpte = {AvpnWord(va, base) | (secondary ? kVSecondary : 0) | kVValid, 0};
    ASSERT_EQ(RecoverVirtualAddress(hpte, ptex, base), va) << round;
    ASSERT_TRUE(HashesTo(hpte, ptex, base, HashMaskOfOrder(order))) << round;
    ASSERT_EQ(RehashHash(hpte, ptex, base, HashMaskOfOrder(order)), hash) << round;
  }
}

}  // namespace
}  // namespace papr::mmu

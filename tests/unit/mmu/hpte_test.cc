#include "mmu/hpte.h"

#include <random>

#include "gtest/gtest.h"
#include "tests/unit/mmu/worked_examples.h"

namespace papr::mmu {
namespace {

TEST(Hpte, ProtectionAndKey) {
  EXPECT_EQ(PageProtection(0), 0);
  EXPECT_EQ(PageProtection(3), 3);
  EXPECT_EQ(PageProtection(kRPp0), 4);
  EXPECT_EQ(PageProtection(kRPp0 | 2), 6);
  EXPECT_EQ(StorageKey(0), 0);
  EXPECT_EQ(StorageKey(0x0200), 1);
  EXPECT_EQ(StorageKey(0x0800), 4);
  EXPECT_EQ(StorageKey(0x1000000000000000), 8);
  EXPECT_EQ(StorageKey(0x2000000000000000), 16);
  EXPECT_EQ(StorageKey(0x3000000000000e00), 31);
  EXPECT_EQ(StorageKey(~uint64_t{0x3000000000000e00}), 0);
}

TEST(Hpte, FieldsDoNotOverlapAndCoverTheWords) {
  EXPECT_EQ(
      kVSegmentSize ^ kVAvpn ^ kVHypervisor ^ kVBolted ^ 0x8u ^ kVLarge ^ kVSecondary ^ kVValid,
      ~uint64_t{0});
  EXPECT_EQ(kRPp0 ^ kRHypervisor ^ kRKeyHigh ^ kRRpn ^ kRKeyLow ^ kRReferenced ^ kRChanged ^
                kRWimg ^ kRNoExecute ^ kRPp,
            ~uint64_t{0});
  EXPECT_EQ(kRWriteThrough | kRCacheInhibited | kRCoherent | kRGuarded, kRWimg);
}

TEST(Hpte, AvpnTestComparesAllSixtyFourBitsOfTheArgument) {
  EXPECT_TRUE(MatchesAvpn(0x1fff, 0x1f80));
  EXPECT_FALSE(MatchesAvpn(0x1f81, 0x1f81));
  EXPECT_FALSE(MatchesAvpn(0x1f81, 0x4000000000001f80));
  EXPECT_TRUE(MatchesAvpn(0x4000000000001f81, 0x4000000000001f80));
}

TEST(Hpte, Isa3WorkedConversions) {
  const auto by_id = [](char id) { return kWorkedExamples[id - 'A'].hpte; };
  EXPECT_EQ(ToIsa3(by_id('D')), (Hpte{0x0000abcdef234501, 0x0400000000042012}));
  EXPECT_EQ(ToIsa3(by_id('E')), (Hpte{0x0000408a66001205, 0x0400000012341012}));
  EXPECT_EQ(ToIsa3(by_id('G')), (Hpte{0x0001ffffff000505, 0x0400000005000012}));
  EXPECT_EQ(ToIsa3(by_id('A')), by_id('A'));
  for (const WorkedExample& example : kWorkedExamples) {
    EXPECT_EQ(FromIsa3(ToIsa3(example.hpte)), example.hpte) << example;
  }
}

// Lost on the way: AVPN bits 52..61 of V and bits 58, 59 of R; nothing else.
TEST(Hpte, Isa3RoundTripLosesOnlyWhatTheFormatLacks) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 10'000; ++round) {
    const Hpte hpte = {random(), random()};
    const Hpte back = FromIsa3(ToIsa3(hpte));
    EXPECT_EQ(back.v, hpte.v & (kVSegmentSize | kIsa3VCommon));
    EXPECT_EQ(back.r, hpte.r & ~kIsa3RSegmentSize);
  }
  EXPECT_EQ(FromIsa3(ToIsa3({0x4010000000001f81, 0})).v, 0x4000000000001f81u);
}

}  // namespace
}  // namespace papr::mmu

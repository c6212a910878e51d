#include "mmu/pteg_scan.h"

#include <array>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace papr::mmu {
namespace {

struct alignas(128) Pteg {
  std::array<AtomicHpte, kHptesPerPteg> slots{};
};

using Match = uint32_t (*)(const AtomicHpte*, uint64_t, uint64_t);

// Those that this processor has.
std::vector<PtegScan> Scans() {
  if (BestPtegScan() == PtegScan::kPortable) return {PtegScan::kPortable};
  return {PtegScan::kPortable, PtegScan::kAvx2};
}

class PtegScanTest : public testing::TestWithParam<PtegScan> {
 protected:
  Match match_ = GetParam() == PtegScan::kAvx2 ? MatchSlotsAvx2 : MatchSlotsPortable;
};

INSTANTIATE_TEST_SUITE_P(All, PtegScanTest, testing::ValuesIn(Scans()),
                         [](const auto& param) { return std::string(PtegScanName(param.param)); });

TEST_P(PtegScanTest, EverySetOfMatchingSlotsIsFound) {
  constexpr uint64_t kWant = 0x8000000000001f81;
  constexpr uint64_t kMask = 0xffffffffffffff83;
  for (uint32_t set = 0; set < 256; ++set) {
    Pteg pteg;
    for (int slot = 0; slot < kHptesPerPteg; ++slot) {
      pteg.slots[slot].v = ((set >> slot) & 1) != 0 ? kWant | 0x7c : kWant ^ 0x80;
      pteg.slots[slot].r = kWant;  // must not count
    }
    EXPECT_EQ(match_(pteg.slots.data(), kMask, kWant), set);
  }
}

// Each bit of V takes part if, and only if, the mask has it.
TEST_P(PtegScanTest, EveryBitIsComparedIfTheMaskHasIt) {
  for (int bit = 0; bit < 64; ++bit) {
    Pteg pteg;
    const uint64_t flipped = uint64_t{1} << bit;
    pteg.slots[bit % kHptesPerPteg].v = flipped;
    const uint32_t slot = uint32_t{1} << (bit % kHptesPerPteg);
    EXPECT_EQ(match_(pteg.slots.data(), ~uint64_t{0}, 0), 0xffu & ~slot);
    EXPECT_EQ(match_(pteg.slots.data(), ~flipped, 0), 0xffu);
    EXPECT_EQ(match_(pteg.slots.data(), flipped, flipped), slot);
  }
}

TEST_P(PtegScanTest, AgreesWithALookAtEachSlot) {
  std::mt19937_64 random(18);
  for (int round = 0; round < 10'000; ++round) {
    Pteg pteg;
    const uint64_t mask = random() & random();
    const uint64_t want = random() & mask;
    uint32_t expected = 0;
    for (int slot = 0; slot < kHptesPerPteg; ++slot) {
      const uint64_t v = random() % 2 == 0 ? random() : want | (random() & ~mask);
      pteg.slots[slot].v = v;
      expected |= uint32_t{(v & mask) == want} << slot;
    }
    ASSERT_EQ(match_(pteg.slots.data(), mask, want), expected);
  }
}

TEST(PtegScan, CanBeChosen) {
  EXPECT_TRUE(SetPtegScan(PtegScan::kPortable));
  EXPECT_EQ(SetPtegScan(PtegScan::kAvx2), BestPtegScan() == PtegScan::kAvx2);
  EXPECT_TRUE(SetPtegScan(BestPtegScan()));
}

}  // namespace
}  // namespace papr::mmu

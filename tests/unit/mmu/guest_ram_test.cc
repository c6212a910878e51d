#include "mmu/guest_ram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace papr::mmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Two neighbours that touch, a hole, and a third; given in any order.
GuestRam ThreeRegions() {
  return GuestRam({{0x100000, 0x3000}, {0x2000, 0x4000}, {0x6000, 0x2000}});
}

std::vector<std::pair<uint64_t, uint64_t>> Parts(const GuestRam& ram, uint64_t address,
                                                 uint64_t bytes) {
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  ram.ForEachPart(address, bytes,
                  [&](uint64_t first, uint64_t count) { parts.emplace_back(first, count); });
  return parts;
}

TEST(GuestRam, PagesAreNumberedWithoutGaps) {
  const GuestRam ram = ThreeRegions();
  EXPECT_EQ(ram.pages(), 9u);
  EXPECT_EQ(ram.PageAt(0x2000), 0u);
  EXPECT_EQ(ram.PageAt(0x7fff), 5u);
  EXPECT_EQ(ram.PageAt(0x100000), 6u);
  EXPECT_EQ(ram.PageAt(0x102fff), 8u);
  for (const uint64_t outside : {0ul, 0x1ffful, 0x8000ul, 0xffffful, 0x103000ul, ~0ul}) {
    EXPECT_FALSE(ram.PageAt(outside).has_value()) << outside;
  }
  for (uint64_t page = 0; page < ram.pages(); ++page) {
    EXPECT_EQ(ram.PageAt(ram.AddressOf(page)), page);
  }
}

TEST(GuestRam, FirstPageFromGoesOverHoles) {
  const GuestRam ram = ThreeRegions();
  EXPECT_EQ(ram.FirstPageFrom(0), 0u);
  EXPECT_EQ(ram.FirstPageFrom(0x2001), 1u);
  EXPECT_EQ(ram.FirstPageFrom(0x7001), 6u);
  EXPECT_EQ(ram.FirstPageFrom(0x8000), 6u);
  EXPECT_EQ(ram.FirstPageFrom(0x102000), 8u);
  EXPECT_EQ(ram.FirstPageFrom(0x103000), 9u);
  EXPECT_EQ(ram.FirstPageFrom(~uint64_t{0}), 9u);
}

TEST(GuestRam, PartsThatTouchAreOne) {
  const GuestRam ram = ThreeRegions();
  EXPECT_EQ(ram.PartEnd(0), 6u);
  EXPECT_EQ(ram.PartEnd(5), 6u);
  EXPECT_EQ(ram.PartEnd(6), 9u);
  EXPECT_THAT(Parts(ram, 0, 0x10000000), ElementsAre(Pair(0, 6), Pair(6, 3)));
  EXPECT_THAT(Parts(ram, 0x5000, 0x2000), ElementsAre(Pair(3, 2)));
  EXPECT_THAT(Parts(ram, 0x7000, 0x100000), ElementsAre(Pair(5, 1), Pair(6, 3)));
  EXPECT_THAT(Parts(ram, 0x8000, 0x1000), IsEmpty());
  EXPECT_THAT(Parts(ram, 0x103000, 0x1000), IsEmpty());
}

}  // namespace
}  // namespace papr::mmu

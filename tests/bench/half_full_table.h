// A partition whose table is half full of hashed entries of random pages, for benchmarks that enter
// and remove random pages and leave it as full as it was.

#ifndef TESTS_BENCH_HALF_FULL_TABLE_H_
#define TESTS_BENCH_HALF_FULL_TABLE_H_

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "hcall/dispatch.h"
#include "hcall/partition.h"
#include "mmu/virtual_address.h"

namespace papr::bench {

// A 4K page and, once it is entered, its slot.
struct Page {
  uint64_t v;  // AVPN word, valid bit added
  uint64_t hash;
  uint64_t ptex;
};

class HalfFullTable {
 public:
  explicit HalfFullTable(int order) : random_(kSeed) {
    hcall::PartitionConfig config;
    config.order = order;
    config.memory = {{0, uint64_t{1} << 40, hcall::MemoryRegion::Kind::kRam}};
    partition_ = *hcall::Partition::Create(config);
    const uint64_t half = partition_->table().entry_count() / 2;
    while (live_.size() < half) {
      Page page = NewPage();
      if (Enter(page)) live_.push_back(page);
    }
  }

  hcall::Partition& partition() { return *partition_; }
  std::vector<Page>& live() { return live_; }

  // A page of a random segment; practically never one that was made before.
  Page NewPage() {
    const auto va = mmu::MakeVirtualAddress(mmu::SegmentSize::k256M,
                                            random_() & ((uint64_t{1} << 37) - 1), random_());
    return {mmu::AvpnWord(va, mmu::k4K) | mmu::kVValid, mmu::Hash(va, mmu::k4K), 0};
  }
  uint64_t PrimaryPtex(const Page& page) const {
    return (page.hash & partition_->table().hash_mask()) << mmu::kPtegShift;
  }

  // `count` of the live pages, each once, moved to the end of live().
  void ShuffleToEnd(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const size_t last = live_.size() - 1 - i;
      std::swap(live_[last], live_[random_() % (last + 1)]);
    }
  }
  // `count` new pages that all fit their primary PTEGs, so that entering them succeeds.
  std::vector<Page> NewPagesThatFit(size_t count) {
    std::vector<Page> pages;
    std::vector<uint8_t> wanted(partition_->table().pteg_count());  // slots, by PTEG
    while (pages.size() < count) {
      const Page page = NewPage();
      const uint64_t first = PrimaryPtex(page);
      int free = 0;
      for (uint64_t ptex = first; ptex < first + mmu::kHptesPerPteg; ++ptex) {
        free += (partition_->table().PeekV(ptex) & mmu::kVValid) == 0 ? 1 : 0;
      }
      uint8_t& taken = wanted[first >> mmu::kPtegShift];
      if (taken >= free) continue;
      ++taken;
      pages.push_back(page);
    }
    return pages;
  }

 private:
  static constexpr uint64_t kSeed = 20;

  bool Enter(Page& page) {
    const uint64_t r = (random_() & 0xfffffff000) | mmu::kRCoherent | 2;
    const auto slot =
        partition_->table().InsertFirstFree(PrimaryPtex(page) >> mmu::kPtegShift, {page.v, r});
    page.ptex = slot.value_or(0);
    return slot.has_value();
  }

  std::mt19937_64 random_;
  std::unique_ptr<hcall::Partition> partition_;
  std::vector<Page> live_;
};

}  // namespace papr::bench

#endif  // TESTS_BENCH_HALF_FULL_TABLE_H_

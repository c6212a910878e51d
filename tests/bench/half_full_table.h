// A partition whose table is half full of hashed entries of random 4K pages, for benchmarks that
// enter and remove random pages and leave it as full as it was.

#ifndef TESTS_BENCH_HALF_FULL_TABLE_H_
#define TESTS_BENCH_HALF_FULL_TABLE_H_

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "hcall/dispatch.h"
#include "hcall/partition.h"
#include "mmu/virtual_address.h"

namespace papr::bench {

// A 4K page and, once it is entered, its slot.
struct Page {
  uint64_t v;  // AVPN word, valid bit added
  uint64_t r;
  uint64_t hash;
  uint64_t ptex;
};

inline hcall::PartitionConfig ConfigOfOrder(int order) {
  hcall::PartitionConfig config;
  config.order = order;
  return config;
}

class HalfFullTable {
 public:
  explicit HalfFullTable(hcall::PartitionConfig config, uint64_t seed = 20)
      : random_(seed), ram_bytes_(uint64_t{1} << (config.order + kRamShift)) {
    config.memory = {{0, ram_bytes_, hcall::MemoryRegion::Kind::kRam}};
    partition_ = *hcall::Partition::Create(std::move(config));
    wanted_.resize(partition_->table().pteg_count());
    const uint64_t half = partition_->table().entry_count() / 2;
    live_.reserve(half + half / 8);
    while (live_.size() < half) {
      Page page = NewPage(live_.size());
      if (TryEnter(page)) live_.push_back(page);
    }
  }

  hcall::Partition& partition() { return *partition_; }
  std::vector<Page>& live() { return live_; }

  // A page of a random segment; practically never one that was made before. It maps the real page
  // of number `real`, of those that are no other page's: pages are scattered over the RAM, and each
  // is mapped once.
  Page NewPage(uint64_t real) {
    const auto va = mmu::MakeVirtualAddress(mmu::SegmentSize::k256M,
                                            random_() & ((uint64_t{1} << 37) - 1), random_());
    constexpr uint64_t kScatter = 0x9e3779b97f4a7c15;  // odd: no two numbers meet
    const uint64_t r = ((real * kScatter << mmu::k4K) & (ram_bytes_ - 1)) | mmu::kRCoherent | 2;
    return {mmu::AvpnWord(va, mmu::k4K) | mmu::kVValid, r, mmu::Hash(va, mmu::k4K), 0};
  }
  uint64_t PrimaryPtex(const Page& page) const {
    return (page.hash & partition_->table().hash_mask()) << mmu::kPtegShift;
  }
  // `count` of the live pages, each once, moved to the end of live().
  std::span<Page> ShuffleToEnd(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const size_t last = live_.size() - 1 - i;
      std::swap(live_[last], live_[random_() % (last + 1)]);
    }
    return std::span(live_).last(count);
  }
  // `count` new pages that all fit their primary PTEGs, so that entering them succeeds.
  std::vector<Page> NewPagesThatFit(size_t count) {
    std::vector<Page> pages;
    pages.reserve(count);
    while (pages.size() < count) {
      const Page page = NewPage(live_.size() + pages.size());
      const uint64_t first = PrimaryPtex(page);
      int free = 0;
      for (uint64_t ptex = first; ptex < first + mmu::kHptesPerPteg; ++ptex) {
        free += (partition_->table().PeekV(ptex) & mmu::kVValid) == 0 ? 1 : 0;
      }
      uint8_t& taken = wanted_[first >> mmu::kPtegShift];
      if (taken >= free) continue;
      ++taken;
      pages.push_back(page);
    }
    for (const Page& page : pages) wanted_[PrimaryPtex(page) >> mmu::kPtegShift] = 0;
    return pages;
  }

  // Enters `page` and notes its slot; false if its primary PTEG is full.
  bool TryEnter(Page& page) {
    const auto slot =
        partition_->table().InsertFirstFree(PrimaryPtex(page) >> mmu::kPtegShift, {page.v, page.r});
    page.ptex = slot.value_or(0);
    return slot.has_value();
  }
  void Remove(const Page& page) {
    partition_->table().Lock(page.ptex).Store(partition_->removed_entry());
  }

 private:
  // RAM is 256 times the table: twice the pages that the live entries map.
  static constexpr int kRamShift = 8;

  std::mt19937_64 random_;
  const uint64_t ram_bytes_;
  std::unique_ptr<hcall::Partition> partition_;
  std::vector<Page> live_;
  std::vector<uint8_t>
      wanted_;  // slots that a list of new pages needs, by PTEG; zero between lists
};

}  // namespace papr::bench

#endif  // TESTS_BENCH_HALF_FULL_TABLE_H_

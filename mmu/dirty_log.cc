#include "mmu/dirty_log.h"

#include <algorithm>
#include <bit>

namespace papr::mmu {
namespace {

// Bits `from` to `to` - 1 of a word, 0 <= from < to <= 64.
uint64_t Bits(uint64_t from, uint64_t to) { return (~uint64_t{0} >> (64 - (to - from))) << from; }

// The first set bit at or above `from` among the first `count` bits of `words`, or `count`.
uint64_t NextBit(const LazyArray<std::atomic<uint64_t>>& words, uint64_t from, uint64_t count) {
  while (from < count) {
    const uint64_t bits = words[from / 64].load() >> (from % 64);
    if (bits != 0) return std::min(count, from + static_cast<uint64_t>(std::countr_zero(bits)));
    from = (from / 64 + 1) * 64;
  }
  return count;
}

}  // namespace

DirtyLog::DirtyLog(uint64_t pages)
    : leaves_((pages + kWordBits - 1) / kWordBits, HostMemory::HugePages::kNo),
      summary_((pages + kWordBits * kWordBits - 1) / (kWordBits * kWordBits),
               HostMemory::HugePages::kNo) {}

void DirtyLog::MarkMany(uint64_t first, uint64_t count) {
  const uint64_t end = first + count;
  while (first < end) {
    const uint64_t word = first / kWordBits;
    const uint64_t stop = std::min(end, (word + 1) * kWordBits);
    MarkInWord(word, Bits(first % kWordBits, stop - word * kWordBits));
    first = stop;
  }
}

uint64_t DirtyLog::NextMarked(uint64_t from, uint64_t end) const {
  const uint64_t words = (end + kWordBits - 1) / kWordBits;
  while (from < end) {
    const uint64_t word = NextBit(summary_, from / kWordBits, words);
    if (word == words) return end;
    from = std::max(from, word * kWordBits);
    const uint64_t stop = std::min(end, (word + 1) * kWordBits);
    const uint64_t found = NextBit(leaves_, from, stop);
    if (found < stop) return found;
    from = stop;
  }
  return end;
}

uint64_t DirtyLog::TakeRun(uint64_t first, uint64_t end, Take take) {
  uint64_t page = first;
  while (page < end) {
    const uint64_t word = page / kWordBits;
    const uint64_t from = page % kWordBits;
    const auto marked =
        static_cast<uint64_t>(std::countr_one(leaves_[word].load() >> from));  // to the next gap
    const uint64_t stop = std::min(page + marked, end);
    if (stop == page) break;
    if (take == Take::kYes) TakeFromWord(word, Bits(from, stop - word * kWordBits));
    page = stop;
    if (page % kWordBits != 0) break;
  }
  return page - first;
}

void DirtyLog::TakeFromWord(uint64_t word, uint64_t bits) {
  Word& leaf = leaves_[word];
  if ((leaf.fetch_and(~bits) & ~bits) != 0) return;
  const uint64_t bit = uint64_t{1} << (word % kWordBits);
  summary_[word / kWordBits].fetch_and(~bit);
  // A mark that came between the two may have found the bit above still set.
  if (leaf.load() != 0) MarkSummary(word);
}

}  // namespace papr::mmu

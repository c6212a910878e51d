// Which 4 KB pages of a guest's RAM were changed since the last question: one bit a page, and above
// it one bit for each word of those, so that a question about much RAM with few changes is quick.
//
// Threads: Mark() and resident_bytes() from any thread at any time. The questions, NextMarked() and
// TakeRun(), one thread at a time: hold question_mutex() for as long as a question takes.

#ifndef MMU_DIRTY_LOG_H_
#define MMU_DIRTY_LOG_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "mmu/lazy_array.h"

namespace papr::mmu {

class DirtyLog {
 public:
  enum class Take : uint8_t {
    kYes,   // what is reported is not reported again until it is marked again
    kKeep,  // only look
  };

  // Of pages 0 to pages - 1, at least one, none of them marked. Not ok(): no address space.
  explicit DirtyLog(uint64_t pages);
  bool ok() const { return leaves_.ok() && summary_.ok(); }

  // Marks `count` pages. A mark is in every question that begins after Mark() has returned, until
  // one takes it. Requires first + count <= pages.
  void Mark(uint64_t first, uint64_t count) {
    if (count == 1) {
      MarkInWord(first / kWordBits, uint64_t{1} << (first % kWordBits));
    } else {
      MarkMany(first, count);
    }
  }

  std::mutex& question_mutex() { return question_mutex_; }
  // The first marked page of [from, end), or `end`.
  uint64_t NextMarked(uint64_t from, uint64_t end) const;
  // How many pages from `first` on are marked without a gap, at most up to `end`, and takes those
  // marks away if asked to.
  uint64_t TakeRun(uint64_t first, uint64_t end, Take take);

  uint64_t resident_bytes() const { return leaves_.resident_bytes() + summary_.resident_bytes(); }

 private:
  using Word = std::atomic<uint64_t>;
  static constexpr uint64_t kWordBits = 64;

  // Looks first: most changes are to pages that are marked already, and a write would take the line
  // away from other processors. The bit above is looked at even then: whoever set the one below may
  // not have come to it yet. The order of all these and TakeFromWord() is sequentially consistent.
  void MarkInWord(uint64_t word, uint64_t bits) {
    if ((leaves_[word].load() & bits) != bits) leaves_[word].fetch_or(bits);
    MarkSummary(word);
  }
  void MarkSummary(uint64_t word) {
    const uint64_t bit = uint64_t{1} << (word % kWordBits);
    Word& above = summary_[word / kWordBits];
    if ((above.load() & bit) == 0) above.fetch_or(bit);
  }
  void MarkMany(uint64_t first, uint64_t count);
  void TakeFromWord(uint64_t word, uint64_t bits);

  std::mutex question_mutex_;
  LazyArray<Word> leaves_;   // bit i of word w: page 64 w + i
  LazyArray<Word> summary_;  // bit i of word w: leaf word 64 w + i may have bits
};

}  // namespace papr::mmu

#endif  // MMU_DIRTY_LOG_H_

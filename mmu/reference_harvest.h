// A sweep over guest RAM that tells which 4 KB pages were referenced or changed since the last one,
// whatever the sizes of the pages that the guest maps; what the guest sees of R and C stays.
//
// Threads: a sweep is for one thread; any number of sweeps may go on at once, and share what they
// clear. No table may take the place of another (ReverseMap::Follow()) during a call, but between
// two calls it may.

#ifndef MMU_REFERENCE_HARVEST_H_
#define MMU_REFERENCE_HARVEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmu/reverse_map.h"

namespace papr::mmu {

// Pages of which the same is known, one behind the other in guest real address space.
struct ReferenceRun {
  uint64_t address = 0;  // guest real, of the first page
  uint64_t bytes = 0;
  bool referenced = false;
  bool changed = false;

  friend bool operator==(const ReferenceRun&, const ReferenceRun&) = default;
};

class ReferenceHarvest {
 public:
  enum class Clear : uint8_t {
    kYes,  // what is told is not told again until it happens again
    kNo,
  };

  // A sweep from page `first` on. Of a large page, what is told of its part that the sweep comes by
  // is cleared when the sweep reaches the large page's end.
  ReferenceHarvest(ReverseMap& map, uint64_t first, Clear clear);

  // Goes on up to page `end`, and adds what it finds to `runs`; stops earlier if that takes more
  // than `max_runs`. Cost: a few ns a page, and for each entry that maps one of them about 0.1 us.
  void Advance(uint64_t end, size_t max_runs, std::vector<ReferenceRun>& runs);
  // Clears what the sweep has told, as far as it may. Call it once, at last.
  void Finish();

  // The first page that the sweep has not come by.
  uint64_t next() const { return next_; }

 private:
  // A page of one size that the sweep is in.
  struct Block {
    uint64_t number = ~uint64_t{0};  // address >> shift
    uint64_t head = 0;               // its first 4 KB page, if that is RAM
    uint64_t bits = 0;               // what was harvested from it
  };

  void Enter(size_t size, uint64_t address);
  void Leave(size_t size);

  ReverseMap& map_;
  const Clear clear_;
  uint64_t next_;
  std::vector<Block> blocks_;  // by size
};

}  // namespace papr::mmu

#endif  // MMU_REFERENCE_HARVEST_H_

// Random hypercalls that get in each other's way: a few pairs of PTEGs, pages that collide in them
// in primary and secondary groups, slots picked again and again.

#ifndef TESTS_LINEARIZABILITY_WORKLOAD_H_
#define TESTS_LINEARIZABILITY_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "hcall/partition.h"
#include "tests/linearizability/history.h"

namespace papr::linearizability {

// An order-18 partition of `profile` that offers every call the profile may have.
std::unique_ptr<hcall::Partition> MakePartition(hcall::Profile profile);

class Workload {
 public:
  // All that follows is decided by the seed.
  Workload(uint64_t seed, hcall::Profile profile);

  int threads() const { return threads_; }       // 2..8
  uint64_t actions() const { return actions_; }  // that each thread carries out

  // What to do before the threads start: fills the groups, often to the brim.
  std::vector<Action> Setup();
  // What a thread does next.
  Action Next();
  // Reads every entry of the pairs: what the threads left.
  std::vector<Action> Readout() const;

 private:
  struct Page {
    uint64_t hash;
    uint64_t avpn;  // the word of an AVPN test
  };

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  const Page& AnyPage() { return pages_[Below(pages_.size())]; }
  uint64_t GroupOf(const Page& page, bool secondary) const;
  // V and R of a mapping of `page`; R unlike that of any other.
  std::pair<uint64_t, uint64_t> Mapping(const Page& page, bool secondary);
  // A page, where it might stand, and that slot's ptex.
  struct Target {
    Page page;
    bool secondary;
    uint64_t ptex;
  };
  Target AnyTarget();
  // An AVPN argument for it: nearly always the right one.
  uint64_t AvpnFor(const Target& target);

  Action OnTheBrink();
  hcall::HcallRequest AnyHcall();
  hcall::HcallRequest Enter();
  hcall::HcallRequest Read();
  hcall::HcallRequest Remove();
  hcall::HcallRequest Protect();
  hcall::HcallRequest Clear();
  hcall::HcallRequest BulkRemove();
  hcall::HcallRequest BlockRemove();
  hcall::HcallRequest HashRemove();
  hcall::HcallRequest HashProtect();
  hcall::HcallRequest HashBulkRemove();

  std::mt19937_64 random_;
  const bool qemu_;
  bool brink_;  // all about one group in which seven entries, now these and now those, are valid
  int threads_;
  uint64_t actions_;
  std::vector<uint64_t> groups_;  // the lower one of each pair
  std::vector<Page> pages_;
  uint64_t hot_slots_;      // slots of a group that most calls aim at
  uint64_t next_page_ = 1;  // of RAM
};

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_WORKLOAD_H_

// What a partition with track_guest_pages must answer, found by looking at the whole table before
// and after each step: no lists, no bits in entries, only sets. One thread at a time.

#ifndef TESTS_MODEL_PAGE_ORACLE_H_
#define TESTS_MODEL_PAGE_ORACLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "hcall/partition.h"
#include "mmu/hpte.h"
#include "mmu/reference_harvest.h"

namespace papr::model {

class PageOracle {
 public:
  explicit PageOracle(hcall::Partition& partition);

  // To be called after each step. `walked`: the step was a table walk that set these bits.
  void AfterStep();
  void AfterWalk(const hcall::ReferenceChange& walked);
  // After a step that replaced or emptied the table: no entry counts as new.
  void AfterNewTable();

  bool IsRam(uint64_t address) const;
  // ptex of the valid entries that map any part of the RAM in [base, base + bytes), ascending.
  std::vector<uint64_t> Mapping(uint64_t base, uint64_t bytes) const;

  // The dirty pages at or above `start`; Forget() takes one.
  const std::set<uint64_t>& dirty() const { return dirty_; }
  void ForgetDirty(uint64_t page) { dirty_.erase(page); }

  // What a harvest of [base, end) must tell, page by page; `clear` as in ReferenceHarvest.
  std::vector<mmu::ReferenceRun> Harvest(uint64_t base, uint64_t end, bool clear);

 private:
  struct Page {  // a real page that an entry maps
    uint64_t address = 0;
    int shift = 0;

    friend auto operator<=>(const Page&, const Page&) = default;
  };

  bool HoldsRam(uint64_t begin, uint64_t end) const;
  // Nothing: it maps no RAM, or nothing at all.
  std::optional<Page> PageOf(const mmu::Hpte& hpte) const;
  void Referenced(const Page& page, uint64_t bits);
  void Changed(const Page& page);
  std::map<uint64_t, mmu::Hpte> ReadTable() const;

  hcall::Partition& partition_;
  std::map<uint64_t, mmu::Hpte> entries_;  // valid, by ptex
  std::set<uint64_t> dirty_;               // addresses of 4 KB pages
  std::map<Page, uint64_t> harvest_;       // R and C since they were told
};

}  // namespace papr::model

#endif  // TESTS_MODEL_PAGE_ORACLE_H_

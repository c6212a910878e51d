#include "mmu/table_check.h"

#include "absl/container/flat_hash_map.h"
#include "mmu/virtual_address.h"

namespace papr::mmu {
namespace {

// A virtual page: what may have one translation at most.
struct PageKey {
  VirtualAddress page;  // its first address
  int base;             // log2 of bytes

  friend bool operator==(const PageKey&, const PageKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PageKey& key) {
    return H::combine(std::move(h), key.page.segment, key.page.vsid, key.page.offset, key.base);
  }
};

class Checker {
 public:
  Checker(const HashPageTable& table, const PageSizeTable& page_sizes, size_t max_findings)
      : table_(table), page_sizes_(page_sizes), max_findings_(max_findings) {}

  TableCheckReport Run() {
    table_.ForEachTouchedRun([this](uint64_t first, uint64_t count) {
      for (uint64_t ptex = first; ptex < first + count; ++ptex) {
        const Hpte hpte = table_.Read(ptex);
        if ((hpte.v & kVValid) != 0) CheckEntry(ptex, hpte);
      }
    });
    return std::move(report_);
  }

 private:
  void CheckEntry(uint64_t ptex, const Hpte& hpte) {
    ++report_.valid;
    if ((hpte.r & (kRReferenced | kRChanged)) == kRChanged) {
      Report(TableFault::kChangedNotReferenced, ptex, hpte);
    }
    if ((hpte.v & kVSegmentSizeReserved) != 0) {
      Report(TableFault::kBadSegmentSize, ptex, hpte);
      return;  // Without a segment size there is no address to look at.
    }
    const auto sizes = page_sizes_.Decode(hpte.v, hpte.r);
    if (!sizes.has_value()) {
      Report(TableFault::kBadPageSize, ptex, hpte);
      return;
    }
    const uint64_t below_page = ((uint64_t{1} << sizes->actual) - 1) & kRRpn;
    const uint64_t lp = uint64_t{page_sizes_.LpOf(*sizes).value_or(0)} << kRLpShift;
    if (sizes->actual > k4K && (hpte.r & below_page) != lp) {
      Report(TableFault::kUnalignedReal, ptex, hpte);
    }
    if (sizes->base > 23) {
      const uint64_t below_base = ((uint64_t{1} << (sizes->base - 23)) - 1) << kVAvpnShift;
      if ((hpte.v & below_base) != 0) Report(TableFault::kAvpnLowBits, ptex, hpte);
    }
    if (!HashesTo(hpte, ptex, sizes->base, table_.hash_mask())) {
      Report(TableFault::kWrongPteg, ptex, hpte);
      return;  // Its place tells no address that it translates.
    }
    const VirtualAddress va = RecoverVirtualAddress(hpte, ptex, sizes->base);
    const PageKey key{RoundDown(va, sizes->base), sizes->base};
    const auto [seen, inserted] = pages_.try_emplace(key, ptex);
    if (!inserted) Report(TableFault::kDuplicate, ptex, hpte, seen->second);
  }

  void Report(TableFault fault, uint64_t ptex, const Hpte& hpte, uint64_t other = 0) {
    ++report_.faults;
    if (report_.findings.size() < max_findings_) {
      report_.findings.push_back({fault, ptex, other, hpte});
    }
  }

  const HashPageTable& table_;
  const PageSizeTable& page_sizes_;
  const size_t max_findings_;
  TableCheckReport report_;
  absl::flat_hash_map<PageKey, uint64_t> pages_;
};

}  // namespace

std::string_view TableFaultName(TableFault fault) {
  switch (fault) {
    case TableFault::kDuplicate:
      return "duplicate translation";
    case TableFault::kWrongPteg:
      return "wrong PTEG for its hash";
    case TableFault::kBadPageSize:
      return "bad page size encoding";
    case TableFault::kBadSegmentSize:
      return "reserved segment size";
    case TableFault::kChangedNotReferenced:
      return "changed but not referenced";
    case TableFault::kUnalignedReal:
      return "real address not aligned to its page";
    case TableFault::kAvpnLowBits:
      return "AVPN bits below the base page";
  }
  return "unknown fault";
}

TableCheckReport CheckTable(const HashPageTable& table, const PageSizeTable& page_sizes,
                            size_t max_findings) {
  return Checker(table, page_sizes, max_findings).Run();
}

}  // namespace papr::mmu

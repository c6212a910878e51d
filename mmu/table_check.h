// Is this hashed page table sound? Looks for what a correct guest on correct hardware never leaves.

#ifndef MMU_TABLE_CHECK_H_
#define MMU_TABLE_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "mmu/hash_page_table.h"
#include "mmu/page_size.h"

namespace papr::mmu {

enum class TableFault : uint8_t {
  kDuplicate,             // another valid entry translates the same virtual page (`other` names it)
  kWrongPteg,             // its address does not hash to its PTEG
  kBadPageSize,           // L set and LP no encoding of the page-size table
  kBadSegmentSize,        // B = 2 or 3
  kChangedNotReferenced,  // C set and R clear: hardware never leaves that
  kUnalignedReal,         // RPN bits set below a large page, beyond LP
  kAvpnLowBits,           // AVPN bits set below a base page above 8 MB: never found by a search
};

std::string_view TableFaultName(TableFault fault);

struct TableFinding {
  TableFault fault;
  uint64_t ptex = 0;
  uint64_t other = 0;  // kDuplicate: the earlier entry
  Hpte hpte;
};

struct TableCheckReport {
  uint64_t valid = 0;                  // entries looked at
  uint64_t faults = 0;                 // all of them, also those beyond the limit
  std::vector<TableFinding> findings;  // ascending ptex, at most the limit
};

// Checks every valid entry. Meaningful only while nobody changes the table.
TableCheckReport CheckTable(const HashPageTable& table, const PageSizeTable& page_sizes,
                            size_t max_findings);

}  // namespace papr::mmu

#endif  // MMU_TABLE_CHECK_H_

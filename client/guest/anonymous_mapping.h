// One private anonymous mapping of a guest process: its pages are touched, which enters an HPTE for
// each, and unmapped, which takes them away in batches. No page tables: an array stands for the
// PTEs.

#ifndef CLIENT_GUEST_ANONYMOUS_MAPPING_H_
#define CLIENT_GUEST_ANONYMOUS_MAPPING_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "client/guest/hash_ops.h"
#include "client/guest/tlb_batch.h"

namespace papr::client::guest {

struct MappingOptions {
  uint64_t context = 0;            // the process's context id
  uint64_t effective_address = 0;  // of the first page, a multiple of the page size
  uint64_t page_count = 0;
  int page_shift = 0;         // log2 of bytes: 12 or 16, base and actual page size alike
  uint64_t real_address = 0;  // of the first page; the pages follow each other in memory
  uint64_t lp = 0;            // LP encoding of the page size; not used for 4K
};

// PTEs in a page table, which is one lazy section when it is unmapped: 512 of 4K pages, 256 of 64K.
constexpr uint64_t PtesPerTable(int page_shift) { return page_shift == 12 ? 512 : 256; }

class AnonymousMapping {
 public:
  // `ops` must outlive this.
  AnonymousMapping(HashOps* ops, const MappingOptions& options);

  uint64_t page_count() const { return options_.page_count; }

  // First store to page `index` (below page_count()): the hash fault that enters its HPTE. Requires
  // that the page has not been touched since the mapping was made or unmapped.
  absl::Status Touch(uint64_t index);
  // Unmaps everything that was touched, a page table at a time.
  absl::Status Unmap();

 private:
  struct Page {
    HashedPage hashed;
    bool present = false;
  };

  HashOps* const ops_;
  const MappingOptions options_;
  TlbBatch batch_;
  std::vector<Page> pages_;
};

}  // namespace papr::client::guest

#endif  // CLIENT_GUEST_ANONYMOUS_MAPPING_H_

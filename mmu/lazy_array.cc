#include "mmu/lazy_array.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace papr::mmu {

uint64_t ResidentBytes(const HostMemory& memory) {
  if (memory.data() == nullptr) return 0;
  constexpr uint64_t kPagesAtOnce = uint64_t{1} << 20;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t pages = (memory.bytes() + page - 1) / page;
  std::vector<unsigned char> resident(std::min(pages, kPagesAtOnce));
  uint64_t count = 0;
  for (uint64_t first = 0; first < pages; first += kPagesAtOnce) {
    const uint64_t step = std::min(pages - first, kPagesAtOnce);
    char* const from = static_cast<char*>(memory.data()) + first * page;
    if (mincore(from, step * page, resident.data()) != 0) break;
    for (uint64_t i = 0; i < step; ++i) count += resident[i] & 1;
  }
  return count * page;
}

}  // namespace papr::mmu

// Arrays that are mostly untouched, in host memory that is taken as it is written: a word for each
// page of a large guest, a link for each entry of a large table.
//
// Threads: the elements are the user's business; Clear() must not overlap with their use.

#ifndef MMU_LAZY_ARRAY_H_
#define MMU_LAZY_ARRAY_H_

#include <cstdint>
#include <type_traits>

#include "mmu/host_memory.h"

namespace papr::mmu {

// Bytes of `memory` that the host holds at this moment. Cost: its size.
uint64_t ResidentBytes(const HostMemory& memory);

// Elements of a type whose zero bytes are a value, such as an atomic integer.
template <typename T>
class LazyArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  // Small arrays are not worth 2 MB for one element that is used.
  static constexpr uint64_t kHugeFromBytes = uint64_t{8} << 20;

  LazyArray() = default;
  // Of zero bytes; not ok() if the host has no address space for them. Requires size > 0.
  LazyArray(uint64_t size, HostMemory::HugePages huge_pages)
      : memory_(size * sizeof(T),
                size * sizeof(T) < kHugeFromBytes ? HostMemory::HugePages::kNo : huge_pages) {}

  bool ok() const { return memory_.data() != nullptr; }
  T& operator[](uint64_t i) const { return static_cast<T*>(memory_.data())[i]; }
  // Makes every byte zero and gives the memory back to the host.
  void Clear() { memory_.Zero(); }
  uint64_t resident_bytes() const { return ResidentBytes(memory_); }

 private:
  HostMemory memory_;
};

}  // namespace papr::mmu

#endif  // MMU_LAZY_ARRAY_H_

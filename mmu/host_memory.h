// Zeroed memory of the host, in the sizes of tables: reserved at once, taken page by page as it is
// written, in huge pages where the kernel gives them.
//
// Threads: one object's members are for one thread, the memory for any.

#ifndef MMU_HOST_MEMORY_H_
#define MMU_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace papr::mmu {

class HostMemory {
 public:
  enum class HugePages : uint8_t {
    kNo,
    kIfPossible,  // of 2 MB, for memory of that size and more; aligned to it
  };

  HostMemory() = default;
  // Null data() if the host has no address space for `bytes`.
  HostMemory(uint64_t bytes, HugePages huge_pages);
  HostMemory(HostMemory&& other) noexcept { *this = std::move(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(huge_pages_, other.huge_pages_);
    return *this;
  }
  ~HostMemory();

  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // Whether the kernel took the advice to use huge pages; it may still not have had one free.
  bool huge_pages() const { return huge_pages_; }

  // Every byte becomes zero and its memory goes back to the host. Others may read meanwhile.
  void Zero();

  static constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

 private:
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
  bool huge_pages_ = false;
};

}  // namespace papr::mmu

#endif  // MMU_HOST_MEMORY_H_

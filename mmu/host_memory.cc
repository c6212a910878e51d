#include "mmu/host_memory.h"

#include <sys/mman.h>

#include <fstream>
#include <string>

namespace papr::mmu {
namespace {

// The kernel takes the advice even where huge pages are switched off for all.
bool HugePagesOffered() {
  static const bool offered = [] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    return std::getline(file, line) && line.find("[never]") == std::string::npos;
  }();
  return offered;
}

void* Map(uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// A huge page must lie on a multiple of its size: maps more and gives the ends back.
void* MapAligned(uint64_t bytes, uint64_t alignment) {
  auto* memory = static_cast<char*>(Map(bytes + alignment));
  if (memory == nullptr) return nullptr;
  const uint64_t before = -reinterpret_cast<uintptr_t>(memory) & (alignment - 1);
  if (before != 0) munmap(memory, before);
  munmap(memory + before + bytes, alignment - before);
  return memory + before;
}

}  // namespace

HostMemory::HostMemory(uint64_t bytes, HugePages huge_pages) : bytes_(bytes) {
  const bool huge = huge_pages == HugePages::kIfPossible && bytes % kHugePageBytes == 0;
  data_ = huge ? MapAligned(bytes, kHugePageBytes) : Map(bytes);
  huge_pages_ =
      huge && data_ != nullptr && HugePagesOffered() && madvise(data_, bytes, MADV_HUGEPAGE) == 0;
}

HostMemory::~HostMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

void HostMemory::Zero() { madvise(data_, bytes_, MADV_DONTNEED); }

}  // namespace papr::mmu

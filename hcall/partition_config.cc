#include "hcall/partition_config.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_format.h"
#include "hcall/abi.h"
#include "mmu/reverse_map.h"

namespace papr::hcall {
namespace {

constexpr uint64_t kRegionAlignment = 4096;
constexpr uint64_t kRealAddressEnd = uint64_t{1} << 60;  // the RPN field reaches no further
constexpr size_t kMaxRegions = 1024;
// H_BLOCK_REMOVE names a block by one AVPN, so its 8 pages must lie within 8 MB (2^23).
constexpr int kMaxBlockBaseShift = 20;

template <typename... Args>
absl::Status Invalid(const absl::FormatSpec<Args...>& format, const Args&... args) {
  return absl::InvalidArgumentError(absl::StrFormat(format, args...));
}

absl::Status CheckMemory(const std::vector<MemoryRegion>& memory) {
  if (memory.size() > kMaxRegions) {
    return Invalid("memory: %d regions; at most %d", memory.size(), kMaxRegions);
  }
  bool ram = false;
  for (size_t i = 0; i < memory.size(); ++i) {
    const MemoryRegion& region = memory[i];
    ram = ram || region.kind == MemoryRegion::Kind::kRam;
    if (region.base % kRegionAlignment != 0) {
      return Invalid("memory[%d].base: 0x%x is no multiple of 4096", i, region.base);
    }
    if (region.size == 0 || region.size % kRegionAlignment != 0) {
      return Invalid("memory[%d].size: 0x%x is 0 or no multiple of 4096", i, region.size);
    }
    if (region.base >= kRealAddressEnd || region.size > kRealAddressEnd - region.base) {
      return Invalid("memory[%d].size: the region at 0x%x ends beyond 2^60", i, region.base);
    }
    for (size_t j = 0; j < i; ++j) {
      if (region.base < memory[j].base + memory[j].size &&
          memory[j].base < region.base + region.size) {
        return Invalid("memory[%d]: overlaps memory[%d]", i, j);
      }
    }
  }
  if (!ram) return Invalid("memory: no RAM region");
  return absl::OkStatus();
}

absl::Status CheckBlockRemove(const PartitionConfig& config) {
  const auto& sizes = config.block_remove_sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!config.page_sizes.LpOf(sizes[i]).has_value()) {
      return Invalid("block_remove_sizes.sizes[%d]: %d/%d is no pair of page_sizes", i,
                     sizes[i].base, sizes[i].actual);
    }
    if (sizes[i].base > kMaxBlockBaseShift) {
      return Invalid(
          "block_remove_sizes.sizes[%d]: a block of base pages of shift %d has no one AVPN", i,
          sizes[i].base);
    }
    if (std::count(sizes.begin(), sizes.end(), sizes[i]) > 1) {
      return Invalid("block_remove_sizes.sizes[%d]: %d/%d stands twice", i, sizes[i].base,
                     sizes[i].actual);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFeatures(const PartitionConfig& config) {
  if (config.profile != Profile::kQemuTcg) return absl::OkStatus();
  if (config.features.block_remove)
    return Invalid("features.block_remove: not in profile qemu-tcg");
  if (config.features.clear_rc) return Invalid("features.clear_rc: not in profile qemu-tcg");
  if (config.features.clear_hpt) return Invalid("features.clear_hpt: not in profile qemu-tcg");
  return absl::OkStatus();
}

// LoPAR leaves 0xf000-0xfffc to the platform; these are known to be taken there.
absl::Status CheckHashOpcodes(uint64_t base) {
  if (base % 4 != 0 || base < 0xf000 || base > 0xfff4) {
    return Invalid("hash_opcode_base: 0x%x is no multiple of 4 in 0xf000..0xfff4", base);
  }
  struct Range {
    uint64_t first, last;
  };
  for (const Range& taken : {Range{0xf000, 0xf005}, Range{0xf078, 0xf080}, Range{0xf800, 0xf80c}}) {
    if (base <= taken.last && base + 8 >= taken.first) {
      return Invalid("hash_opcode_base: 0x%x meets the known opcodes 0x%x..0x%x", base, taken.first,
                     taken.last);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTracking(const PartitionConfig& config) {
  if (!config.track_guest_pages) return absl::OkStatus();
  if (config.mmu == MmuKind::kRadix) {
    return Invalid("track_guest_pages: a radix partition has no HPT to track");
  }
  constexpr int kMost = mmu::kMaxTrackedOrder;
  if (config.order > kMost) {
    return Invalid("order: %d is above %d, the largest with track_guest_pages", config.order,
                   kMost);
  }
  if (config.max_order > kMost) {
    return Invalid("max_order: %d is above %d, the largest with track_guest_pages",
                   config.max_order, kMost);
  }
  const size_t sizes = mmu::ActualPageSizes(config.page_sizes).size();
  if (sizes > mmu::kMaxTrackedPageSizes) {
    return Invalid("page_sizes: %d actual page sizes; at most %d with track_guest_pages", sizes,
                   mmu::kMaxTrackedPageSizes);
  }
  return absl::OkStatus();
}

bool IsOrder(int order) { return order >= mmu::kMinHptOrder && order <= mmu::kMaxHptOrder; }

}  // namespace

Features Features::Default(Profile profile) {
  Features features;
  if (profile == Profile::kQemuTcg) {
    features.block_remove = features.hash = features.clear_rc = features.clear_hpt = false;
  }
  return features;
}

absl::Status PartitionConfig::Validate() const {
  if (mmu == MmuKind::kHash && !IsOrder(order))
    return Invalid("order: %d is outside 18..46", order);
  if (max_order != 0 && !IsOrder(max_order)) {
    return Invalid("max_order: %d is neither 0 nor 18..46", max_order);
  }
  if (absl::Status status = CheckMemory(memory); !status.ok()) return status;
  if (absl::Status status = CheckBlockRemove(*this); !status.ok()) return status;
  if (absl::Status status = CheckFeatures(*this); !status.ok()) return status;
  if (absl::Status status = CheckTracking(*this); !status.ok()) return status;
  return CheckHashOpcodes(hash_opcode_base);
}

uint64_t PartitionConfig::RamBytes() const {
  uint64_t bytes = 0;
  for (const MemoryRegion& region : memory) {
    if (region.kind == MemoryRegion::Kind::kRam) bytes += region.size;
  }
  return bytes;
}

int PartitionConfig::MaxOrder() const {
  if (max_order != 0) return max_order;
  return std::min(OrderForRam(RamBytes()) + 1,
                  track_guest_pages ? mmu::kMaxTrackedOrder : mmu::kMaxHptOrder);
}

int OrderForRam(uint64_t ram_bytes) {
  const int ram_order = static_cast<int>(std::bit_width(ram_bytes == 0 ? 0 : ram_bytes - 1));
  return std::clamp(ram_order - 7, mmu::kMinHptOrder, mmu::kMaxHptOrder);
}

std::string_view ProfileName(Profile profile) {
  return profile == Profile::kQemuTcg ? "qemu-tcg" : "kvm-hv";
}

std::string_view ProcessorName(Processor processor) {
  switch (processor) {
    case Processor::kPower7:
      return "power7";
    case Processor::kPower8:
      return "power8";
    case Processor::kPower9:
      return "power9";
  }
  return "unknown";
}

}  // namespace papr::hcall

#include "tests/conformance/qemu/qemu_settings.h"

#include <string_view>

#include "absl/strings/str_cat.h"

namespace papr::conformance {
namespace {

constexpr uint64_t kMaxRamBytes = uint64_t{16} << 30;
constexpr uint64_t kRamUnit = uint64_t{256} << 20;  // pseries has memory in blocks of that

absl::Status Cannot(std::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("QEMU's pseries has no ", absl::string_view(what.data(), what.size())));
}

absl::StatusOr<uint64_t> RamOf(const hcall::PartitionConfig& config) {
  uint64_t bytes = 0;
  for (const hcall::MemoryRegion& region : config.memory) {
    if (region.kind == hcall::MemoryRegion::Kind::kIo) continue;
    if (bytes != 0) return Cannot("second RAM region");
    if (region.base != 0) return Cannot("RAM that does not begin at 0");
    bytes = region.size;
  }
  if (bytes > kMaxRamBytes || bytes % kRamUnit != 0) {
    return Cannot(absl::StrCat("RAM of ", bytes, " bytes"));
  }
  return bytes;
}

bool SameSizes(const mmu::PageSizeTable& a, const mmu::PageSizeTable& b) {
  return a.match() == b.match() && a.segments() == b.segments();
}

absl::Status CheckFeatures(const hcall::PartitionConfig& config) {
  const hcall::Features expected = hcall::Features::Default(hcall::Profile::kQemuTcg);
  const hcall::Features& features = config.features;
  if (features.hash != expected.hash) return Cannot("H_HASH_* calls");
  if (!features.bulk_remove) return Cannot("way to be without H_BULK_REMOVE");
  if (!features.resize) return Cannot("way to be without H_RESIZE_HPT_*");
  if (!features.page_init) return Cannot("way to be without H_PAGE_INIT");
  return absl::OkStatus();
}

absl::Status CheckOther(const hcall::PartitionConfig& config) {
  if (config.profile != hcall::Profile::kQemuTcg) return Cannot("profile kvm-hv");
  if (config.mmu != hcall::MmuKind::kHash) return Cannot("radix tables on power8");
  if (config.processor != hcall::Processor::kPower8) return Cannot("processor but power8 here");
  if (config.strict_flags) return Cannot("strict flags");
  if (config.max_order != 0 && config.max_order != hcall::OrderForRam(config.RamBytes()) + 1) {
    return Cannot("maximal order to set");
  }
  if (config.resize_preparation == hcall::ResizePreparation::kManual) {
    return Cannot("preparation of a resize that the operator ends");
  }
  if (config.guest_memory != nullptr) return Cannot("guest memory but its own");
  return CheckFeatures(config);
}

}  // namespace

const mmu::PageSizeTable& QemuLargePages() {
  static const mmu::PageSizeTable table =
      *mmu::PageSizeTable::Create({{mmu::k4K, 0, {{mmu::k4K, 0}, {mmu::k16M, 0x38}}},
                                   {mmu::k64K, 0x110, {{mmu::k64K, 1}, {mmu::k16M, 8}}},
                                   {mmu::k16M, 0x100, {{mmu::k16M, 0}}}},
                                  mmu::PageSizeTable::Match::kWholePage);
  return table;
}

absl::StatusOr<QemuSettings> SettingsFor(const hcall::PartitionConfig& config) {
  if (const absl::Status status = CheckOther(config); !status.ok()) return status;
  const auto ram = RamOf(config);
  if (!ram.ok()) return ram.status();
  QemuSettings settings{.ram_bytes = *ram, .resize = config.resize_permitted};
  if (SameSizes(config.page_sizes, QemuLargePages())) {
    settings.large_pages = true;
  } else if (!SameSizes(config.page_sizes, mmu::PageSizeTable::QemuDefault())) {
    return Cannot("page sizes but 4K and 64K, with or without 16M");
  }
  const int native = NativeOrder(settings);
  if (config.order != native && !settings.resize) {
    return Cannot(absl::StrCat("table of order ", config.order, " without resizing; ", native,
                               " is what suits its RAM"));
  }
  if (config.order > native + 1) {
    return Cannot(absl::StrCat("table of order ", config.order, " with so little RAM"));
  }
  return settings;
}

int NativeOrder(const QemuSettings& settings) { return hcall::OrderForRam(settings.ram_bytes); }

}  // namespace papr::conformance

#include "server/config_from_proto.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/config_error.h"
#include "server/errors.h"
#include "server/limits.h"

namespace papr::server {
namespace {

namespace v1 = mmu::v1;

// Page sizes that the HPTE format can express, log2 of bytes.
constexpr uint32_t kMinPageShift = 12;
constexpr uint32_t kMaxPageShift = 40;

absl::Status UnknownValue(absl::string_view field, int value) {
  return FieldError(field, absl::StrCat(value, " is no value of this enumeration"));
}

absl::Status CheckShift(const std::string& field, uint32_t shift, uint32_t least) {
  if (shift >= least && shift <= kMaxPageShift) return absl::OkStatus();
  return FieldError(field, absl::StrCat(shift, " is outside ", least, "..", kMaxPageShift));
}

// The enumerations. An unspecified value leaves the default.
absl::Status SetKinds(const v1::PartitionConfig& proto, hcall::PartitionConfig& config) {
  switch (proto.profile()) {
    case v1::PROFILE_UNSPECIFIED:
    case v1::PROFILE_KVM_HV:
      config.profile = hcall::Profile::kKvmHv;
      break;
    case v1::PROFILE_QEMU_TCG:
      config.profile = hcall::Profile::kQemuTcg;
      break;
    default:
      return UnknownValue("config.profile", proto.profile());
  }
  switch (proto.processor()) {
    case v1::PROCESSOR_POWER7:
      config.processor = hcall::Processor::kPower7;
      break;
    case v1::PROCESSOR_UNSPECIFIED:
    case v1::PROCESSOR_POWER8:
      config.processor = hcall::Processor::kPower8;
      break;
    case v1::PROCESSOR_POWER9:
      config.processor = hcall::Processor::kPower9;
      break;
    default:
      return UnknownValue("config.processor", proto.processor());
  }
  switch (proto.mmu()) {
    case v1::MMU_KIND_UNSPECIFIED:
    case v1::MMU_KIND_HASH:
      config.mmu = hcall::MmuKind::kHash;
      break;
    case v1::MMU_KIND_RADIX:
      config.mmu = hcall::MmuKind::kRadix;
      break;
    default:
      return UnknownValue("config.mmu", proto.mmu());
  }
  switch (proto.resize_preparation()) {
    case v1::RESIZE_PREPARATION_UNSPECIFIED:
    case v1::RESIZE_PREPARATION_BACKGROUND:
      config.resize_preparation = hcall::ResizePreparation::kBackground;
      break;
    case v1::RESIZE_PREPARATION_MANUAL:
      config.resize_preparation = hcall::ResizePreparation::kManual;
      break;
    default:
      return UnknownValue("config.resize_preparation", proto.resize_preparation());
  }
  return absl::OkStatus();
}

absl::Status SetMemory(const v1::PartitionConfig& proto, hcall::PartitionConfig& config) {
  for (int i = 0; i < proto.memory_size(); ++i) {
    const v1::MemoryRegion& region = proto.memory(i);
    hcall::MemoryRegion::Kind kind;
    switch (region.kind()) {
      case v1::MemoryRegion::KIND_RAM:
        kind = hcall::MemoryRegion::Kind::kRam;
        break;
      case v1::MemoryRegion::KIND_IO:
        kind = hcall::MemoryRegion::Kind::kIo;
        break;
      default:
        return FieldError(absl::StrCat("config.memory[", i, "].kind"), "must be RAM or IO");
    }
    config.memory.push_back({region.base(), region.size(), kind});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<mmu::SegmentPageSize>> Segments(const v1::PartitionConfig& proto) {
  std::vector<mmu::SegmentPageSize> segments;
  int encodings = 0;
  for (int i = 0; i < proto.page_sizes_size(); ++i) {
    const v1::SegmentPageSize& line = proto.page_sizes(i);
    const std::string path = absl::StrCat("config.page_sizes[", i, "]");
    encodings += line.encodings_size();
    if (encodings > kMaxPageSizeEncodings) {
      return FieldError(path, absl::StrCat("more than ", kMaxPageSizeEncodings, " encodings"));
    }
    absl::Status status = CheckShift(path + ".base_shift", line.base_shift(), kMinPageShift);
    if (!status.ok()) return status;
    mmu::SegmentPageSize& segment = segments.emplace_back();
    segment.base = static_cast<int>(line.base_shift());
    segment.slb = line.slb();
    for (int j = 0; j < line.encodings_size(); ++j) {
      const auto& encoding = line.encodings(j);
      status = CheckShift(absl::StrCat(path, ".encodings[", j, "].actual_shift"),
                          encoding.actual_shift(), line.base_shift());
      if (!status.ok()) return status;
      segment.encodings.push_back({static_cast<int>(encoding.actual_shift()), encoding.lp()});
    }
  }
  return segments;
}

absl::Status SetPageSizes(const v1::PartitionConfig& proto, hcall::PartitionConfig& config) {
  const bool qemu = config.profile == hcall::Profile::kQemuTcg;
  const mmu::PageSizeTable& usual =
      qemu ? mmu::PageSizeTable::QemuDefault() : mmu::PageSizeTable::Power();
  mmu::PageSizeTable::Match match;
  switch (proto.page_size_match()) {
    case v1::PAGE_SIZE_MATCH_UNSPECIFIED:
      match = usual.match();
      break;
    case v1::PAGE_SIZE_MATCH_LP_FIELD:
      match = mmu::PageSizeTable::Match::kLpField;
      break;
    case v1::PAGE_SIZE_MATCH_WHOLE_PAGE:
      match = mmu::PageSizeTable::Match::kWholePage;
      break;
    default:
      return UnknownValue("config.page_size_match", proto.page_size_match());
  }
  auto segments = Segments(proto);
  if (!segments.ok()) return segments.status();
  auto table = mmu::PageSizeTable::Create(segments->empty() ? usual.segments() : *segments, match);
  if (!table.ok()) return FieldError("config.page_sizes", table.status().message());
  config.page_sizes = *std::move(table);
  return absl::OkStatus();
}

absl::Status SetBlockRemoveSizes(const v1::PartitionConfig& proto, hcall::PartitionConfig& config) {
  if (!proto.has_block_remove_sizes()) {
    // Of the usual pairs those that this partition's page sizes have.
    std::erase_if(config.block_remove_sizes, [&config](const mmu::PageSizes& sizes) {
      return !config.page_sizes.LpOf(sizes).has_value();
    });
    return absl::OkStatus();
  }
  const auto& sizes = proto.block_remove_sizes().sizes();
  if (sizes.size() > kMaxBlockRemoveSizes) {
    return FieldError("config.block_remove_sizes.sizes",
                      absl::StrCat("more than ", kMaxBlockRemoveSizes, " pairs"));
  }
  config.block_remove_sizes.clear();
  for (int i = 0; i < sizes.size(); ++i) {
    const std::string path = absl::StrCat("config.block_remove_sizes.sizes[", i, "]");
    const uint32_t base = sizes[i].base_shift();
    absl::Status status = CheckShift(path + ".base_shift", base, kMinPageShift);
    if (!status.ok()) return status;
    status = CheckShift(path + ".actual_shift", sizes[i].actual_shift(), base);
    if (!status.ok()) return status;
    config.block_remove_sizes.push_back(
        {static_cast<int>(base), static_cast<int>(sizes[i].actual_shift())});
  }
  return absl::OkStatus();
}

void SetFeatures(const v1::PartitionConfig& proto, hcall::PartitionConfig& config) {
  if (!proto.has_features()) {
    config.features = hcall::Features::Default(config.profile);
    return;
  }
  const v1::Features& features = proto.features();
  config.features.bulk_remove = features.bulk_remove();
  config.features.block_remove = features.block_remove();
  config.features.hash = features.hash();
  config.features.resize = features.resize();
  config.features.clear_rc = features.clear_rc();
  config.features.page_init = features.page_init();
  config.features.clear_hpt = features.clear_hpt();
}

absl::Status SetOrders(const v1::PartitionConfig& proto, hcall::PartitionConfig& config) {
  // Checked here while it is unsigned; Validate() knows the exact range.
  constexpr uint32_t kAnyOrderEnd = 64;
  if (proto.max_order() >= kAnyOrderEnd) {
    return FieldError("config.max_order", absl::StrCat(proto.max_order(), " is no order"));
  }
  config.max_order = static_cast<int>(proto.max_order());
  if (config.mmu == hcall::MmuKind::kRadix) return absl::OkStatus();
  if (proto.order() >= kAnyOrderEnd) {
    return FieldError("config.order", absl::StrCat(proto.order(), " is no order"));
  }
  config.order =
      proto.order() != 0 ? static_cast<int>(proto.order()) : hcall::OrderForRam(config.RamBytes());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<hcall::PartitionConfig> ConfigFromProto(const v1::PartitionConfig& proto) {
  hcall::PartitionConfig config;
  if (absl::Status s = SetKinds(proto, config); !s.ok()) return s;
  if (absl::Status s = SetMemory(proto, config); !s.ok()) return s;
  if (absl::Status s = SetPageSizes(proto, config); !s.ok()) return s;
  if (absl::Status s = SetBlockRemoveSizes(proto, config); !s.ok()) return s;
  SetFeatures(proto, config);
  if (absl::Status s = SetOrders(proto, config); !s.ok()) return s;
  config.resize_permitted = !proto.deny_resize();
  config.strict_flags = proto.strict_flags();
  config.track_guest_pages = proto.track_guest_pages();
  if (proto.hash_opcode_base() != 0) config.hash_opcode_base = proto.hash_opcode_base();
  if (absl::Status s = config.Validate(); !s.ok()) return NameConfigField(s);
  return config;
}

}  // namespace papr::server

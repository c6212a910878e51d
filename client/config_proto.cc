#include "client/config_proto.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace papr::client {
namespace {

namespace v1 = ::papr::mmu::v1;

v1::Processor ToProto(hcall::Processor processor) {
  switch (processor) {
    case hcall::Processor::kPower7:
      return v1::PROCESSOR_POWER7;
    case hcall::Processor::kPower8:
      return v1::PROCESSOR_POWER8;
    case hcall::Processor::kPower9:
      return v1::PROCESSOR_POWER9;
  }
  return v1::PROCESSOR_UNSPECIFIED;
}

void AddMemory(const hcall::PartitionConfig& config, v1::PartitionConfig* out) {
  for (const hcall::MemoryRegion& region : config.memory) {
    v1::MemoryRegion* added = out->add_memory();
    added->set_base(region.base);
    added->set_size(region.size);
    added->set_kind(region.kind == hcall::MemoryRegion::Kind::kRam ? v1::MemoryRegion::KIND_RAM
                                                                   : v1::MemoryRegion::KIND_IO);
  }
}

void AddPageSizes(const hcall::PartitionConfig& config, v1::PartitionConfig* out) {
  for (const mmu::SegmentPageSize& segment : config.page_sizes.segments()) {
    v1::SegmentPageSize* added = out->add_page_sizes();
    added->set_base_shift(static_cast<uint32_t>(segment.base));
    added->set_slb(segment.slb);
    for (const mmu::SegmentPageSize::Encoding& encoding : segment.encodings) {
      v1::SegmentPageSize::Encoding* line = added->add_encodings();
      line->set_actual_shift(static_cast<uint32_t>(encoding.actual));
      line->set_lp(encoding.lp);
    }
  }
  out->set_page_size_match(config.page_sizes.match() == mmu::PageSizeTable::Match::kWholePage
                               ? v1::PAGE_SIZE_MATCH_WHOLE_PAGE
                               : v1::PAGE_SIZE_MATCH_LP_FIELD);
}

void SetFeatures(const hcall::Features& features, v1::Features* out) {
  out->set_bulk_remove(features.bulk_remove);
  out->set_block_remove(features.block_remove);
  out->set_hash(features.hash);
  out->set_resize(features.resize);
  out->set_clear_rc(features.clear_rc);
  out->set_page_init(features.page_init);
  out->set_clear_hpt(features.clear_hpt);
}

}  // namespace

v1::PartitionConfig ToProto(const hcall::PartitionConfig& config) {
  v1::PartitionConfig out;
  out.set_profile(config.profile == hcall::Profile::kQemuTcg ? v1::PROFILE_QEMU_TCG
                                                             : v1::PROFILE_KVM_HV);
  out.set_processor(ToProto(config.processor));
  out.set_mmu(config.mmu == hcall::MmuKind::kRadix ? v1::MMU_KIND_RADIX : v1::MMU_KIND_HASH);
  out.set_order(static_cast<uint32_t>(config.order));
  AddMemory(config, &out);
  AddPageSizes(config, &out);
  v1::BlockRemoveSizes* block = out.mutable_block_remove_sizes();
  for (const mmu::PageSizes& sizes : config.block_remove_sizes) {
    v1::PageSizePair* pair = block->add_sizes();
    pair->set_base_shift(static_cast<uint32_t>(sizes.base));
    pair->set_actual_shift(static_cast<uint32_t>(sizes.actual));
  }
  SetFeatures(config.features, out.mutable_features());
  out.set_deny_resize(!config.resize_permitted);
  out.set_max_order(static_cast<uint32_t>(config.max_order));
  out.set_resize_preparation(config.resize_preparation == hcall::ResizePreparation::kManual
                                 ? v1::RESIZE_PREPARATION_MANUAL
                                 : v1::RESIZE_PREPARATION_BACKGROUND);
  out.set_strict_flags(config.strict_flags);
  out.set_track_guest_pages(config.track_guest_pages);
  out.set_hash_opcode_base(static_cast<uint32_t>(config.hash_opcode_base));
  return out;
}

absl::StatusOr<mmu::PageSizeTable> PageSizesFromProto(const v1::PartitionConfig& config) {
  std::vector<mmu::SegmentPageSize> segments;
  for (const v1::SegmentPageSize& message : config.page_sizes()) {
    mmu::SegmentPageSize segment;
    segment.base = static_cast<int>(message.base_shift());
    segment.slb = message.slb();
    for (const v1::SegmentPageSize::Encoding& line : message.encodings()) {
      segment.encodings.push_back({static_cast<int>(line.actual_shift()), line.lp()});
    }
    segments.push_back(std::move(segment));
  }
  return mmu::PageSizeTable::Create(std::move(segments),
                                    config.page_size_match() == v1::PAGE_SIZE_MATCH_WHOLE_PAGE
                                        ? mmu::PageSizeTable::Match::kWholePage
                                        : mmu::PageSizeTable::Match::kLpField);
}

hcall::DeviceTree FromProto(const v1::DeviceTree& tree) {
  hcall::DeviceTree out;
  for (int i = 0; i < std::min(tree.pft_size_size(), 2); ++i) {
    out.pft_size[static_cast<size_t>(i)] = tree.pft_size(i);
  }
  out.segment_page_sizes.assign(tree.segment_page_sizes().begin(), tree.segment_page_sizes().end());
  out.hypertas_functions.assign(tree.hypertas_functions().begin(), tree.hypertas_functions().end());
  const std::string& bytes = tree.block_invalidate_characteristics();
  out.block_remove_characteristics.assign(bytes.begin(), bytes.end());
  return out;
}

hcall::HptStatistics FromProto(const v1::HptStatistics& statistics) {
  hcall::HptStatistics out;
  out.order = static_cast<int>(statistics.order());
  out.table_bytes = statistics.table_bytes();
  out.resident_bytes = statistics.resident_bytes();
  out.valid = statistics.valid();
  out.bolted = statistics.bolted();
  out.secondary = statistics.secondary();
  out.large = statistics.large();
  const size_t fills =
      std::min(out.pteg_fill.size(), static_cast<size_t>(statistics.pteg_fill_size()));
  for (size_t i = 0; i < fills; ++i) out.pteg_fill[i] = statistics.pteg_fill(static_cast<int>(i));
  out.digest = statistics.digest();
  if (statistics.pending_order() != 0) {
    out.pending_order = static_cast<int>(statistics.pending_order());
  }
  out.pending_ready = statistics.pending_ready();
  out.tracking_bytes = statistics.tracking_bytes();
  return out;
}

mmu::TableCheckReport FromProto(const v1::CheckHptResponse& response) {
  mmu::TableCheckReport report;
  report.valid = response.valid();
  report.faults = response.faults();
  for (const v1::HptFinding& finding : response.findings()) {
    // The enums name the same faults in the same order, after FAULT_UNSPECIFIED.
    static_assert(static_cast<int>(mmu::TableFault::kAvpnLowBits) + 1 ==
                  v1::HptFinding::FAULT_AVPN_LOW_BITS);
    report.findings.push_back({static_cast<mmu::TableFault>(finding.fault() - 1),
                               finding.ptex(),
                               finding.other(),
                               {finding.v(), finding.r()}});
  }
  return report;
}

}  // namespace papr::client

#include "server/proto_from_config.h"

#include <string>

namespace papr::server {
namespace {

namespace v1 = mmu::v1;

v1::Processor ProcessorToProto(hcall::Processor processor) {
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

v1::HptFinding::Fault FaultToProto(mmu::TableFault fault) {
  switch (fault) {
    case mmu::TableFault::kDuplicate:
      return v1::HptFinding::FAULT_DUPLICATE;
    case mmu::TableFault::kWrongPteg:
      return v1::HptFinding::FAULT_WRONG_PTEG;
    case mmu::TableFault::kBadPageSize:
      return v1::HptFinding::FAULT_BAD_PAGE_SIZE;
    case mmu::TableFault::kBadSegmentSize:
      return v1::HptFinding::FAULT_BAD_SEGMENT_SIZE;
    case mmu::TableFault::kChangedNotReferenced:
      return v1::HptFinding::FAULT_CHANGED_NOT_REFERENCED;
    case mmu::TableFault::kUnalignedReal:
      return v1::HptFinding::FAULT_UNALIGNED_REAL;
    case mmu::TableFault::kAvpnLowBits:
      return v1::HptFinding::FAULT_AVPN_LOW_BITS;
  }
  return v1::HptFinding::FAULT_UNSPECIFIED;
}

void PageSizesToProto(const hcall::PartitionConfig& config, v1::PartitionConfig* proto) {
  for (const mmu::SegmentPageSize& segment : config.page_sizes.segments()) {
    v1::SegmentPageSize* line = proto->add_page_sizes();
    line->set_base_shift(static_cast<uint32_t>(segment.base));
    line->set_slb(segment.slb);
    for (const auto& encoding : segment.encodings) {
      auto* pair = line->add_encodings();
      pair->set_actual_shift(static_cast<uint32_t>(encoding.actual));
      pair->set_lp(encoding.lp);
    }
  }
  proto->set_page_size_match(config.page_sizes.match() == mmu::PageSizeTable::Match::kWholePage
                                 ? v1::PAGE_SIZE_MATCH_WHOLE_PAGE
                                 : v1::PAGE_SIZE_MATCH_LP_FIELD);
  auto* block_remove = proto->mutable_block_remove_sizes();
  for (const mmu::PageSizes& sizes : config.block_remove_sizes) {
    auto* pair = block_remove->add_sizes();
    pair->set_base_shift(static_cast<uint32_t>(sizes.base));
    pair->set_actual_shift(static_cast<uint32_t>(sizes.actual));
  }
}

void FeaturesToProto(const hcall::Features& features, v1::Features* proto) {
  proto->set_bulk_remove(features.bulk_remove);
  proto->set_block_remove(features.block_remove);
  proto->set_hash(features.hash);
  proto->set_resize(features.resize);
  proto->set_clear_rc(features.clear_rc);
  proto->set_page_init(features.page_init);
  proto->set_clear_hpt(features.clear_hpt);
}

}  // namespace

void ConfigToProto(const hcall::PartitionConfig& config, v1::PartitionConfig* proto) {
  const bool hash = config.mmu == hcall::MmuKind::kHash;
  proto->set_profile(config.profile == hcall::Profile::kQemuTcg ? v1::PROFILE_QEMU_TCG
                                                                : v1::PROFILE_KVM_HV);
  proto->set_processor(ProcessorToProto(config.processor));
  proto->set_mmu(hash ? v1::MMU_KIND_HASH : v1::MMU_KIND_RADIX);
  if (hash) proto->set_order(static_cast<uint32_t>(config.order));
  for (const hcall::MemoryRegion& region : config.memory) {
    v1::MemoryRegion* out = proto->add_memory();
    out->set_base(region.base);
    out->set_size(region.size);
    out->set_kind(region.kind == hcall::MemoryRegion::Kind::kRam ? v1::MemoryRegion::KIND_RAM
                                                                 : v1::MemoryRegion::KIND_IO);
  }
  PageSizesToProto(config, proto);
  FeaturesToProto(config.features, proto->mutable_features());
  proto->set_deny_resize(!config.resize_permitted);
  proto->set_max_order(static_cast<uint32_t>(config.MaxOrder()));
  proto->set_resize_preparation(config.resize_preparation == hcall::ResizePreparation::kManual
                                    ? v1::RESIZE_PREPARATION_MANUAL
                                    : v1::RESIZE_PREPARATION_BACKGROUND);
  proto->set_strict_flags(config.strict_flags);
  proto->set_track_guest_pages(config.track_guest_pages);
  proto->set_hash_opcode_base(static_cast<uint32_t>(config.hash_opcode_base));
}

void PartitionToProto(const ServedPartition& served, v1::Partition* proto) {
  const hcall::Partition& partition = *served.partition;
  proto->set_name(served.name);
  ConfigToProto(partition.config(), proto->mutable_config());
  proto->set_order(static_cast<uint32_t>(partition.order()));
  const hcall::DeviceTree tree = partition.GetDeviceTree();
  v1::DeviceTree* out = proto->mutable_device_tree();
  for (const uint32_t cell : tree.pft_size) out->add_pft_size(cell);
  for (const uint32_t cell : tree.segment_page_sizes) out->add_segment_page_sizes(cell);
  for (const std::string& function : tree.hypertas_functions) {
    out->add_hypertas_functions(function);
  }
  out->set_block_invalidate_characteristics(tree.block_remove_characteristics.data(),
                                            tree.block_remove_characteristics.size());
}

void StatisticsToProto(const hcall::HptStatistics& statistics, DigestWanted digest,
                       v1::HptStatistics* proto) {
  proto->set_order(static_cast<uint32_t>(statistics.order));
  proto->set_table_bytes(statistics.table_bytes);
  proto->set_resident_bytes(statistics.resident_bytes);
  proto->set_valid(statistics.valid);
  proto->set_bolted(statistics.bolted);
  proto->set_secondary(statistics.secondary);
  proto->set_large(statistics.large);
  for (const uint64_t ptegs : statistics.pteg_fill) proto->add_pteg_fill(ptegs);
  if (digest == DigestWanted::kYes) proto->set_digest(statistics.digest);
  if (statistics.pending_order.has_value()) {
    proto->set_pending_order(static_cast<uint32_t>(*statistics.pending_order));
    proto->set_pending_ready(statistics.pending_ready);
  }
  proto->set_tracking_bytes(statistics.tracking_bytes);
  proto->set_huge_pages(statistics.huge_pages);
}

void CheckToProto(const mmu::TableCheckReport& report, v1::CheckHptResponse* proto) {
  proto->set_valid(report.valid);
  proto->set_faults(report.faults);
  for (const mmu::TableFinding& finding : report.findings) {
    v1::HptFinding* out = proto->add_findings();
    out->set_fault(FaultToProto(finding.fault));
    out->set_ptex(finding.ptex);
    if (finding.fault == mmu::TableFault::kDuplicate) out->set_other(finding.other);
    out->set_v(finding.hpte.v);
    out->set_r(finding.hpte.r);
  }
}

}  // namespace papr::server

#include "hcall/partition.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "hcall/abi.h"
#include "hcall/trace.h"

namespace papr::hcall {
namespace {

using mmu::HashPageTable;

std::vector<MemoryRegion> RamOf(const PartitionConfig& config) {
  std::vector<MemoryRegion> ram;
  for (const MemoryRegion& region : config.memory) {
    if (region.kind == MemoryRegion::Kind::kRam) ram.push_back(region);
  }
  return ram;
}

// A call that takes no pair of page sizes is none.
bool OffersBlockRemove(const PartitionConfig& config) {
  return config.mmu == MmuKind::kHash && config.features.block_remove &&
         !config.block_remove_sizes.empty();
}

// Calls that a partition without a hashed page table has too.
bool NeedsHpt(Opcode opcode) {
  return opcode != kHPageInit && opcode != kHResizeHptPrepare && opcode != kHResizeHptCommit;
}

bool Offers(const PartitionConfig& config, Opcode opcode) {
  if (config.mmu == MmuKind::kRadix && NeedsHpt(opcode)) return false;
  const Features& features = config.features;
  switch (opcode) {
    case kHBulkRemove:
      return features.bulk_remove;
    case kHBlockRemove:
      return OffersBlockRemove(config);
    case kHHashRemove:
    case kHHashProtect:
    case kHHashBulkRemove:
      return features.hash;
    case kHResizeHptPrepare:
    case kHResizeHptCommit:
      return features.resize;
    case kHClearRef:
    case kHClearMod:
      return features.clear_rc;
    case kHPageInit:
      return features.page_init;
    case kHClearHpt:
      return features.clear_hpt;
    default:
      return true;
  }
}

uint32_t EnabledKinds(const PartitionConfig& config) {
  uint32_t enabled = 0;
  for (size_t kind = 0; kind < kServedOpcodes.size(); ++kind) {
    if (Offers(config, kServedOpcodes[kind])) enabled |= uint32_t{1} << kind;
  }
  return enabled;
}

absl::StatusOr<std::unique_ptr<mmu::ReverseMap>> NewReverseMap(const PartitionConfig& config) {
  std::vector<mmu::GuestRam::Region> ram;
  for (const MemoryRegion& region : RamOf(config)) ram.push_back({region.base, region.size});
  return mmu::ReverseMap::Create(mmu::GuestRam(std::move(ram)), config.page_sizes);
}

// An empty table as a machine reset leaves it.
absl::StatusOr<std::unique_ptr<HashPageTable>> NewTable(const PartitionConfig& config, int order) {
  const uint64_t empty_v = config.profile == Profile::kQemuTcg ? mmu::kVSoftwareDirty : 0;
  return HashPageTable::Create(order, empty_v, config.hpt_budget);
}

// Adds `weight` times the PTEG that begins at `first`.
void CountPteg(const HashPageTable& table, uint64_t first, uint64_t weight, HptStatistics& out) {
  uint64_t valid = 0;
  for (uint64_t ptex = first; ptex < first + mmu::kHptesPerPteg; ++ptex) {
    if ((table.PeekV(ptex) & mmu::kVValid) == 0) continue;
    const mmu::Hpte hpte = table.Read(ptex);
    if ((hpte.v & mmu::kVValid) == 0) continue;
    ++valid;
    out.bolted += (hpte.v & mmu::kVBolted) != 0 ? weight : 0;
    out.secondary += (hpte.v & mmu::kVSecondary) != 0 ? weight : 0;
    out.large += (hpte.v & mmu::kVLarge) != 0 ? weight : 0;
    out.digest += DigestTerm(ptex, hpte);
  }
  out.valid += valid * weight;
  out.pteg_fill[valid] += weight;
}

// Looks at every `stride`-th PTEG of the touched part.
HptStatistics Count(const HashPageTable& table, uint64_t stride) {
  HptStatistics out;
  out.order = table.order();
  out.table_bytes = table.bytes();
  out.huge_pages = table.huge_pages();
  const uint64_t step = stride * mmu::kHptesPerPteg;
  uint64_t next = 0;  // first entry of the next PTEG to look at, counted over the touched runs
  uint64_t passed = 0;
  table.ForEachTouchedRun([&](uint64_t first, uint64_t count) {
    for (; next < passed + count; next += step) {
      CountPteg(table, first + (next - passed), stride, out);
    }
    passed += count;
    out.resident_bytes += HashPageTable::kRunBytes;
  });
  uint64_t looked_at = 0;
  for (const uint64_t ptegs : out.pteg_fill) looked_at += ptegs;
  // The rest was never touched; a sample that does not divide the runs evenly may pass the total.
  out.pteg_fill[0] += std::max(table.pteg_count(), looked_at) - looked_at;
  return out;
}

// The reply to ibm,get-system-parameter token 50 (LoPAR "TLB Block Invalidate Characteristics"):
// be16 length of what follows; then, for each block size, log2 of its pages, how many codes, and a
// code for each pair of page sizes: 0x00 for 4K/4K, else 0x80 and the LP encoding.
std::vector<uint8_t> BlockRemoveCharacteristics(const PartitionConfig& config) {
  constexpr uint8_t kLog2BlockPages = 3;
  const auto& sizes = config.block_remove_sizes;
  if (!OffersBlockRemove(config)) return {0, 0};
  const size_t length = 2 + sizes.size();
  std::vector<uint8_t> reply = {static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length),
                                kLog2BlockPages, static_cast<uint8_t>(sizes.size())};
  for (const mmu::PageSizes& pair : sizes) {
    const uint32_t lp = config.page_sizes.LpOf(pair).value_or(0);
    reply.push_back(pair.actual == mmu::k4K ? 0 : static_cast<uint8_t>(0x80 | (lp & 0x3f)));
  }
  return reply;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Partition>> Partition::Create(PartitionConfig config) {
  if (absl::Status status = config.Validate(); !status.ok()) return status;
  auto partition = std::unique_ptr<Partition>(new Partition(std::move(config)));
  if (partition->config_.mmu == MmuKind::kHash) {
    auto table = NewTable(partition->config_, partition->config_.order);
    if (!table.ok()) return table.status();
    if (partition->config_.track_guest_pages) {
      auto map = NewReverseMap(partition->config_);
      if (!map.ok()) return map.status();
      partition->reverse_map_ = *std::move(map);
    }
    absl::Status status = partition->ReplaceTable(*std::move(table));
    if (!status.ok()) return status;
  }
  return partition;
}

Partition::Partition(PartitionConfig config)
    : config_(std::move(config)), ram_(RamOf(config_)), enabled_(EnabledKinds(config_)) {}

Partition::~Partition() = default;

absl::Status Partition::ReplaceTable(std::unique_ptr<HashPageTable> table) {
  if (reverse_map_ != nullptr) {
    if (absl::Status status = reverse_map_->Follow(table.get()); !status.ok()) return status;
  }
  table_ = std::move(table);
  ++table_generation_;
  export_marks_.reset();
  return absl::OkStatus();
}

std::shared_ptr<HashPageTable> Partition::SnapshotTable() const {
  const Quiescence::Shared guard(quiescence_);
  return table_;
}

int Partition::order() const {
  const auto table = SnapshotTable();
  return table == nullptr ? 0 : table->order();
}

HptStatistics Partition::GetStatistics() const { return Statistics(std::nullopt); }

HptStatistics Partition::SampleStatistics(uint64_t max_ptegs) const {
  return Statistics(max_ptegs);
}

HptStatistics Partition::Statistics(std::optional<uint64_t> max_ptegs) const {
  HptStatistics out;
  if (const auto table = SnapshotTable(); table != nullptr) {
    const uint64_t touched = table->touched_bytes() / (sizeof(mmu::Hpte) * mmu::kHptesPerPteg);
    const uint64_t stride = max_ptegs.has_value() ? touched / std::max<uint64_t>(*max_ptegs, 1) : 0;
    out = Count(*table, stride + 1);
  }
  const HptResize::Pending pending = resize_.pending();
  if (pending.state != HptResize::State::kNone) out.pending_order = pending.order;
  out.pending_ready = pending.state == HptResize::State::kReady;
  if (reverse_map_ != nullptr && !max_ptegs.has_value()) {
    const Quiescence::Shared guard(quiescence_);
    out.tracking_bytes = reverse_map_->resident_bytes();
  }
  return out;
}

mmu::TableCheckReport Partition::Check(size_t max_findings) const {
  const auto table = SnapshotTable();
  if (table == nullptr) return {};
  return mmu::CheckTable(*table, config_.page_sizes, max_findings);
}

absl::Status Partition::SetReferenceChange(std::span<const ReferenceChange> updates,
                                           size_t* applied) {
  const Quiescence::Shared guard(quiescence_);
  for (*applied = 0; *applied < updates.size(); ++*applied) {
    const ReferenceChange& update = updates[*applied];
    if (table_ == nullptr || !table_->Contains(update.ptex)) {
      return absl::OutOfRangeError(
          absl::StrFormat("updates[%d].ptex: 0x%x is outside the table", *applied, update.ptex));
    }
    HashPageTable::LockedEntry entry = table_->Lock(update.ptex);
    if (!entry.valid()) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "updates[%d].ptex: the entry at 0x%x is not valid", *applied, update.ptex));
    }
    entry.SetReferenceChange((update.referenced ? mmu::kRReferenced : 0) |
                             (update.changed ? mmu::kRChanged : 0));
  }
  return absl::OkStatus();
}

absl::Status Partition::FinishResizePreparation(int order, int64_t return_code) {
  if (config_.resize_preparation != ResizePreparation::kManual) {
    return absl::FailedPreconditionError("the partition's resize preparation is not MANUAL");
  }
  if (!resize_.Finish(order, return_code)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("no resize to order %d is being prepared", order));
  }
  return absl::OkStatus();
}

absl::Status Partition::Reset(std::optional<int> order) {
  if (config_.mmu == MmuKind::kRadix) return absl::OkStatus();
  const int new_order = order.value_or(config_.order);
  if (reverse_map_ != nullptr && new_order > mmu::kMaxTrackedOrder) {
    return absl::InvalidArgumentError(
        absl::StrFormat("order %d is above %d, the largest with track_guest_pages", new_order,
                        mmu::kMaxTrackedOrder));
  }
  {
    // The usual reset needs no second table, and so no room for one.
    const Quiescence::Exclusive guard(quiescence_);
    if (table_->order() == new_order && table_->empty_entry() == removed_entry()) {
      resize_.Discard();
      table_->Clear();
      ++table_generation_;
      return absl::OkStatus();
    }
  }
  auto table = NewTable(config_, new_order);
  if (!table.ok()) return table.status();
  const Quiescence::Exclusive guard(quiescence_);
  if (absl::Status status = ReplaceTable(*std::move(table)); !status.ok()) return status;
  resize_.Discard();
  return absl::OkStatus();
}

DeviceTree Partition::GetDeviceTree() const {
  DeviceTree tree;
  const bool hash = config_.mmu == MmuKind::kHash;
  tree.pft_size = {0, static_cast<uint32_t>(order())};
  for (const mmu::SegmentPageSize& segment : config_.page_sizes.segments()) {
    auto& cells = tree.segment_page_sizes;
    cells.insert(cells.end(), {static_cast<uint32_t>(segment.base), segment.slb,
                               static_cast<uint32_t>(segment.encodings.size())});
    for (const auto& [actual, lp] : segment.encodings) {
      cells.insert(cells.end(), {static_cast<uint32_t>(actual), lp});
    }
  }
  const Features& features = config_.features;
  auto& functions = tree.hypertas_functions;
  if (hash) functions.push_back("hcall-pft");
  if (hash && features.bulk_remove) functions.push_back("hcall-bulk");
  if (OffersBlockRemove(config_)) functions.push_back("hcall-block-remove");
  if (hash && features.resize && config_.resize_permitted) functions.push_back("hcall-hpt-resize");
  if (features.page_init) functions.push_back("hcall-copy");
  if (hash && features.clear_hpt) functions.push_back("hcall-clr-hpt");
  if (hash && features.hash) functions.push_back("hcall-hash-api");
  tree.block_remove_characteristics = BlockRemoveCharacteristics(config_);
  return tree;
}

}  // namespace papr::hcall

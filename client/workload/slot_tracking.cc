#include "client/workload/slot_tracking.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cancellable_hypervisor.h"
#include "client/counting_hypervisor.h"
#include "client/guest/anonymous_mapping.h"
#include "client/guest/mm_context.h"
#include "client/guest/native_ops.h"
#include "mmu/hash_page_table.h"

namespace papr::client {
namespace {

using Clock = std::chrono::steady_clock;
using guest::SlotMode;

constexpr uint64_t kMegabyte = uint64_t{1} << 20;
// Where mmap puts things on both kernels, a multiple of 16 MB, in a 1 TB segment.
constexpr uint64_t kMappingAddress = 0x3ffe00000000;
// Below are the guest's kernel and firmware.
constexpr uint64_t kFirstRealAddress = 256 * kMegabyte;
constexpr uint64_t kMaxMegabytes = 1 << 16;
// How often the caller is asked whether to go on: too seldom to be measured.
constexpr uint64_t kTouchesPerQuestion = 256;

guest::MappingOptions MappingOf(const SlotTrackingOptions& options) {
  guest::MappingOptions mapping;
  const bool large = options.page_shift == mmu::k64K;
  mapping.context = large ? guest::kFirstUserContext64K : guest::kFirstUserContext4K;
  mapping.effective_address = kMappingAddress + (options.offset_pages << options.page_shift);
  mapping.page_count = (options.megabytes * kMegabyte) >> options.page_shift;
  mapping.page_shift = options.page_shift;
  mapping.real_address = kFirstRealAddress;
  mapping.lp =
      mmu::PageSizeTable::Power().LpOf({options.page_shift, options.page_shift}).value_or(0);
  return mapping;
}

// The pages' contents, for variants that clear them: as much memory as the mapping has, so that
// clearing goes through the caches as it would.
struct PageContents {
  std::vector<unsigned char> bytes;
};

// One variant with the guest that runs it.
class Variant {
 public:
  static absl::StatusOr<std::unique_ptr<Variant>> Pseries(const SlotTrackingOptions& options,
                                                          SlotMode mode, PageContents* clear,
                                                          Machine* machine) {
    absl::StatusOr<hcall::DeviceTree> tree = machine->GetDeviceTree();
    if (!tree.ok()) return tree.status();
    std::unique_ptr<Variant> variant(new Variant(options, clear));
    std::unique_ptr<Hypervisor> hypervisor = machine->MakeHypervisor();
    if (options.transport != Transport::kLocal) {  // where another function call weighs nothing
      hypervisor =
          std::make_unique<CancellableHypervisor>(std::move(hypervisor), options.cancelled);
    }
    variant->hypervisor_ = std::make_unique<CountingHypervisor>(std::move(hypervisor));
    guest::PseriesOptions ops;
    ops.mode = mode;
    ops.features = guest::ReadFirmwareFeatures(*tree);
    ops.hpt_order = static_cast<int>(tree->pft_size[1]);
    ops.post_removals = options.transport == Transport::kBatch;
    ops.seed = options.seed;
    absl::StatusOr<guest::PseriesOps> created =
        guest::PseriesOps::Create(variant->hypervisor_.get(), ops);
    if (!created.ok()) return created.status();
    variant->row_.mode = std::string(SlotModeName(mode));
    variant->pseries_ = std::make_unique<guest::PseriesOps>(*std::move(created));
    variant->SetMapping(variant->pseries_.get());
    return variant;
  }

  static std::unique_ptr<Variant> Powernv(const SlotTrackingOptions& options, PageContents* clear,
                                          mmu::HashPageTable* table) {
    std::unique_ptr<Variant> variant(new Variant(options, clear));
    variant->row_.mode = "direct";
    variant->native_ = std::make_unique<guest::NativeOps>(table, options.seed);
    variant->SetMapping(variant->native_.get());
    return variant;
  }

  // Maps, touches every page, unmaps.
  absl::Status Iterate() {
    const Clock::time_point start = Clock::now();
    for (uint64_t page = 0; page < mapping_->page_count(); ++page) {
      if (page % kTouchesPerQuestion == 0 && options_.cancelled && options_.cancelled()) {
        return absl::CancelledError("interrupted");
      }
      if (absl::Status status = mapping_->Touch(page); !status.ok()) return status;
      if (clear_ != nullptr) {
        unsigned char* bytes = clear_->bytes.data() + (page << options_.page_shift);
        std::memset(bytes, 0, size_t{1} << options_.page_shift);
        *bytes = 1;
      }
    }
    if (absl::Status status = mapping_->Unmap(); !status.ok()) return status;
    seconds_.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    return absl::OkStatus();
  }

  const std::vector<double>& seconds() const { return seconds_; }

  SlotTrackingRow Row() const {
    SlotTrackingRow row = row_;
    row.iterations = static_cast<int>(seconds_.size());
    for (const double seconds : seconds_) row.seconds += seconds;
    uint64_t total = 0;
    if (hypervisor_ != nullptr) {
      row.round_trips = hypervisor_->round_trips();
      for (const auto& [opcode, count] : hypervisor_->counts()) {
        row.hcalls[std::string(hcall::OpcodeName(opcode))] = count;
        total += count;
      }
    }
    const double iterations = std::max(1, row.iterations);
    row.hcalls_per_iteration = static_cast<double>(total) / iterations;
    row.hcalls_per_page = row.hcalls_per_iteration / static_cast<double>(row.pages);
    if (pseries_ != nullptr && pseries_->finds() > 0) {
      row.reads_per_find =
          static_cast<double>(pseries_->find_reads()) / static_cast<double>(pseries_->finds());
    }
    return row;
  }

 private:
  Variant(const SlotTrackingOptions& options, PageContents* clear)
      : options_(options), clear_(clear) {
    row_.platform = std::string(PlatformName(options.platform));
    row_.transport = std::string(TransportName(options.transport));
    row_.page_size = uint64_t{1} << options.page_shift;
    row_.clear_pages = clear != nullptr;
  }

  void SetMapping(guest::HashOps* ops) {
    mapping_ = std::make_unique<guest::AnonymousMapping>(ops, MappingOf(options_));
    row_.pages = mapping_->page_count();
  }

  const SlotTrackingOptions& options_;
  PageContents* const clear_;                       // null: pages are not cleared
  std::unique_ptr<CountingHypervisor> hypervisor_;  // null on powernv
  std::unique_ptr<guest::PseriesOps> pseries_;      // null on powernv
  std::unique_ptr<guest::NativeOps> native_;        // null on pseries
  std::unique_ptr<guest::AnonymousMapping> mapping_;
  std::vector<double> seconds_;
  SlotTrackingRow row_;
};

using Variants = std::vector<std::unique_ptr<Variant>>;

absl::StatusOr<Variants> MakeVariants(const SlotTrackingOptions& options, PageContents* contents,
                                      Machine* machine, mmu::HashPageTable* table) {
  Variants variants;
  for (PageContents* clear : {static_cast<PageContents*>(nullptr), contents}) {
    if (clear == nullptr && !variants.empty()) break;  // no clearing rows
    if (options.platform == GuestPlatform::kPowernv) {
      variants.push_back(Variant::Powernv(options, clear, table));
      continue;
    }
    for (const SlotMode mode : options.modes) {
      absl::StatusOr<std::unique_ptr<Variant>> variant =
          Variant::Pseries(options, mode, clear, machine);
      if (!variant.ok()) return variant.status();
      variants.push_back(*std::move(variant));
    }
  }
  return variants;
}

// A guest that has run before: the table's memory is there. Only in this process, where nobody else
// sees the hcalls and the first touch of memory would weigh as much as an iteration.
absl::Status WarmUp(const SlotTrackingOptions& options, Machine* machine,
                    mmu::HashPageTable* table) {
  if (options.transport != Transport::kLocal) return absl::OkStatus();
  absl::StatusOr<Variants> variants = MakeVariants(options, nullptr, machine, table);
  if (!variants.ok()) return variants.status();
  return variants->front()->Iterate();
}

}  // namespace

std::string_view TransportName(Transport transport) {
  switch (transport) {
    case Transport::kLocal:
      return "local";
    case Transport::kUnary:
      return "unary";
    case Transport::kBatch:
      return "batch";
  }
  return "";
}

std::string_view PlatformName(GuestPlatform platform) {
  return platform == GuestPlatform::kPseries ? "pseries" : "powernv";
}

std::string_view SlotModeName(SlotMode mode) {
  switch (mode) {
    case SlotMode::kSlot:
      return "slot";
    case SlotMode::kFind:
      return "find";
    case SlotMode::kHash:
      return "hash";
  }
  return "";
}

absl::Status SlotTrackingOptions::Validate() const {
  if (iterations < 1) return absl::InvalidArgumentError("iterations must be at least 1");
  if (page_shift != mmu::k4K && page_shift != mmu::k64K) {
    return absl::InvalidArgumentError("the page size must be 4K or 64K");
  }
  if (megabytes < 1 || megabytes > kMaxMegabytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("megabytes must be 1 to ", kMaxMegabytes, ", not ", megabytes));
  }
  if (hpt_order < mmu::kMinHptOrder || hpt_order > mmu::kMaxHptOrder) {
    return absl::InvalidArgumentError(absl::StrFormat("the HPT's order must be %d to %d, not %d",
                                                      mmu::kMinHptOrder, mmu::kMaxHptOrder,
                                                      hpt_order));
  }
  if (offset_pages >= (uint64_t{1} << (mmu::k16M - page_shift))) {
    return absl::InvalidArgumentError("the offset must be less than 16 MB");
  }
  if (platform == GuestPlatform::kPseries && modes.empty()) {
    return absl::InvalidArgumentError("no mode is named");
  }
  return absl::OkStatus();
}

hcall::PartitionConfig SlotTrackingPartition(const SlotTrackingOptions& options) {
  hcall::PartitionConfig config;
  config.order = options.hpt_order;
  const uint64_t needed = kFirstRealAddress + options.megabytes * kMegabyte;
  config.memory = {
      {0, std::max(1024 * kMegabyte, std::bit_ceil(needed)), hcall::MemoryRegion::Kind::kRam}};
  return config;
}

absl::StatusOr<std::vector<SlotTrackingRow>> RunSlotTracking(const SlotTrackingOptions& options,
                                                             Machine* machine) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  std::unique_ptr<mmu::HashPageTable> table;
  if (options.platform == GuestPlatform::kPowernv) {
    auto created = mmu::HashPageTable::Create(options.hpt_order);
    if (!created.ok()) return created.status();
    table = *std::move(created);
  }
  PageContents contents;
  if (options.clear_pages) contents.bytes.assign(options.megabytes * kMegabyte, 1);
  if (absl::Status status = WarmUp(options, machine, table.get()); !status.ok()) return status;

  absl::StatusOr<Variants> variants =
      MakeVariants(options, options.clear_pages ? &contents : nullptr, machine, table.get());
  if (!variants.ok()) return variants.status();
  for (int round = 0; round < options.iterations; ++round) {
    for (size_t turn = 0; turn < variants->size(); ++turn) {
      const size_t at = round % 2 == 0 ? turn : variants->size() - 1 - turn;
      if (absl::Status status = (*variants)[at]->Iterate(); !status.ok()) return status;
    }
    if (options.progress) options.progress(round + 1);
  }

  std::vector<SlotTrackingRow> rows;
  for (const auto& variant : *variants) {
    rows.push_back(variant->Row());
    if (rows.size() > 1) {
      // A row with cleared pages is measured against the first of its own kind.
      const bool clears = rows.back().clear_pages;
      const size_t first = clears ? variants->size() / 2 : 0;
      if (first == rows.size() - 1) continue;
      rows.back().ratio_to_first =
          ComparePaired(variant->seconds(), (*variants)[first]->seconds(), options.seed);
    }
  }
  return rows;
}

}  // namespace papr::client

// A partition: a hashed page table with its configuration, the state of a resize, and what the
// operator may ask of it. Hcalls reach it through Dispatch() (hcall/dispatch.h).
//
// Threads: every public function may be called from any thread at any time. A change of structure
// (resize commit, reset, clear) waits until the hcalls in progress are done and holds back later
// ones; nothing else excludes anything.

#ifndef HCALL_PARTITION_H_
#define HCALL_PARTITION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hcall/hpt_resize.h"
#include "hcall/partition_config.h"
#include "hcall/quiescence.h"
#include "mmu/export_marks.h"
#include "mmu/hash_page_table.h"
#include "mmu/reverse_map.h"
#include "mmu/table_check.h"

namespace papr::hcall {

struct HptStatistics {
  int order = 0;
  uint64_t table_bytes = 0;     // 2^order, 0 for a radix partition
  uint64_t resident_bytes = 0;  // of runs of 64 KB that ever held an entry
  uint64_t valid = 0;           // entries
  uint64_t bolted = 0;          // of the valid ones
  uint64_t secondary = 0;       // of the valid ones
  uint64_t large = 0;           // of the valid ones: L set
  // PTEGs by number of valid entries, 0 to 8.
  std::array<uint64_t, mmu::kHptesPerPteg + 1> pteg_fill{};
  // Sum modulo 2^64 over the valid entries of
  // ((v & ~0x60) * 0x9E3779B97F4A7C15 + r * 0xC2B2AE3D27D4EB4F) * (2 * ptex + 1).
  uint64_t digest = 0;
  std::optional<int> pending_order;  // a resize is prepared or being prepared
  bool pending_ready = false;
  // Host memory of the reverse map and the dirty log; 0 without track_guest_pages. Not in a sample.
  uint64_t tracking_bytes = 0;
  bool huge_pages = false;  // the host agreed to keep the table in huge pages
};

// One update that a table walk makes.
struct ReferenceChange {
  uint64_t ptex = 0;
  bool referenced = false;
  bool changed = false;
};

// What a guest reads from its device tree.
struct DeviceTree {
  std::array<uint32_t, 2> pft_size{};                 // ibm,pft-size: {0, order}; zeros for radix
  std::vector<uint32_t> segment_page_sizes;           // ibm,segment-page-sizes, cells
  std::vector<std::string> hypertas_functions;        // ibm,hypertas-functions, the page table part
  std::vector<uint8_t> block_remove_characteristics;  // ibm,get-system-parameter token 50
};

class Partition {
 public:
  // INVALID_ARGUMENT: the configuration. RESOURCE_EXHAUSTED: memory for the table.
  static absl::StatusOr<std::unique_ptr<Partition>> Create(PartitionConfig config);
  ~Partition();

  const PartitionConfig& config() const { return config_; }
  int order() const;  // of the current table; 0 for radix
  DeviceTree GetDeviceTree() const;

  // A full scan of the touched part of the table. While others issue hcalls the numbers are those
  // of no single moment.
  HptStatistics GetStatistics() const;
  // Only what is cheap and bounded: looks at no more than about `max_ptegs` PTEGs and scales up.
  HptStatistics SampleStatistics(uint64_t max_ptegs) const;
  // Looks for what a sound table does not hold (mmu/table_check.h).
  mmu::TableCheckReport Check(size_t max_findings) const;

  // Sets R and C as a table walk does, in order. Stops at the first update whose entry is out of
  // range (OUT_OF_RANGE) or not valid (FAILED_PRECONDITION), the position named; earlier ones stay.
  // `applied` gets their number.
  absl::Status SetReferenceChange(std::span<const ReferenceChange> updates, size_t* applied);

  // Ends the pending preparation with `return_code` (kHSuccess or an error that PREPARE may give).
  // FAILED_PRECONDITION: nothing pending, another order, or not a MANUAL partition.
  absl::Status FinishResizePreparation(int order, int64_t return_code);

  // Machine reset: an empty table, by default of the order that the partition was created with, and
  // no pending resize. The dirty log stays. INVALID_ARGUMENT: order; RESOURCE_EXHAUSTED: memory;
  // both change nothing.
  absl::Status Reset(std::optional<int> order = std::nullopt);

  // For the hcall files.
  // Requires a hash partition and, for table(), a Quiescence guard of this partition held.
  mmu::HashPageTable& table() { return *table_; }
  HptResize& resize() { return resize_; }
  Quiescence& quiescence() const { return quiescence_; }
  // RAM region that holds guest real `address`; null if it is I/O or nothing.
  const MemoryRegion* FindRam(uint64_t address) const {
    for (const MemoryRegion& region : ram_) {
      if (address - region.base < region.size) return &region;
    }
    return nullptr;
  }
  // Null without track_guest_pages. Its questions require a Quiescence guard of this partition.
  mmu::ReverseMap* reverse_map() const { return reverse_map_.get(); }
  // RESOURCE_EXHAUSTED, and nothing changed: the host has no address space to track it. Requires
  // the exclusive guard.
  absl::Status ReplaceTable(std::unique_ptr<mmu::HashPageTable> table);
  // Another number when the table has become another one, or was emptied by a reset. Requires a
  // guard.
  uint64_t table_generation() const { return table_generation_; }
  // What the exports that are open follow the table with (hcall/htab_export.cc); they own it.
  // Requires the exclusive guard.
  std::weak_ptr<mmu::ExportMarks>& export_marks() { return export_marks_; }
  // V as this partition stores the V of H_ENTER, and what it leaves in a removed entry.
  uint64_t StoredV(uint64_t v) const {
    return qemu() ? (v & ~mmu::kVHypervisor) | mmu::kVSoftwareDirty
                  : (v & ~mmu::kVHypervisor) | mmu::kVValid;
  }
  mmu::Hpte removed_entry() const { return {qemu() ? mmu::kVSoftwareDirty : 0, 0}; }
  bool qemu() const { return config_.qemu(); }
  // Whether the call kServedOpcodes[kind] answers in this partition; of any other kind: false.
  bool Enabled(int kind) const { return ((enabled_ >> kind) & 1) != 0; }

 private:
  explicit Partition(PartitionConfig config);

  HptStatistics Statistics(std::optional<uint64_t> max_ptegs) const;
  // The current table, kept alive while a scan that must not hold up a resize reads it; null for
  // radix.
  std::shared_ptr<mmu::HashPageTable> SnapshotTable() const;

  const PartitionConfig config_;
  const std::vector<MemoryRegion> ram_;  // the RAM of `config_`
  const uint32_t enabled_;               // bit k: kServedOpcodes[k] answers
  mutable Quiescence quiescence_;
  std::unique_ptr<mmu::ReverseMap> reverse_map_;  // null without track_guest_pages
  std::shared_ptr<mmu::HashPageTable> table_;     // null for radix
  uint64_t table_generation_ = 0;
  std::weak_ptr<mmu::ExportMarks> export_marks_;
  HptResize resize_;
};

}  // namespace papr::hcall

#endif  // HCALL_PARTITION_H_

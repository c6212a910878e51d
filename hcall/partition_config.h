// What a partition is made of: its hashed page table's order, memory map, page sizes, features and
// whose behaviour its hcalls follow. Plain data, checked once by Validate(), then immutable.

#ifndef HCALL_PARTITION_CONFIG_H_
#define HCALL_PARTITION_CONFIG_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "hcall/guest_memory.h"
#include "mmu/hash_page_table.h"
#include "mmu/memory_budget.h"
#include "mmu/page_size.h"

namespace papr::hcall {

// Where PAPR leaves room or real hypervisors depart from it, whose answer to give.
enum class Profile : uint8_t {
  kKvmHv,    // Linux KVM-HV
  kQemuTcg,  // QEMU 7.2 TCG's pseries machine
};

enum class Processor : uint8_t { kPower7, kPower8, kPower9 };

enum class MmuKind : uint8_t { kHash, kRadix };  // A radix partition has no HPT.

enum class ResizePreparation : uint8_t {
  kBackground,  // H_RESIZE_HPT_PREPARE starts a thread that ends by itself
  kManual,      // it ends when FinishResizePreparation() says so, for replay
};

struct MemoryRegion {
  enum class Kind : uint8_t { kRam, kIo };
  uint64_t base = 0;  // guest real address, bytes, a multiple of 4 KB
  uint64_t size = 0;  // bytes, a multiple of 4 KB, not 0
  Kind kind = Kind::kRam;

  friend bool operator==(const MemoryRegion&, const MemoryRegion&) = default;
};

// Families of calls that a partition may be without; a call that is off answers H_FUNCTION.
struct Features {
  bool bulk_remove = true;   // H_BULK_REMOVE
  bool block_remove = true;  // H_BLOCK_REMOVE; never in qemu-tcg
  bool hash = true;          // H_HASH_*; in qemu-tcg only if asked for
  bool resize = true;    // H_RESIZE_HPT_*: permitted at all (H_AUTHORITY is for `resize_permitted`)
  bool clear_rc = true;  // H_CLEAR_REF, H_CLEAR_MOD; never in qemu-tcg
  bool page_init = true;  // H_PAGE_INIT
  bool clear_hpt = true;  // H_CLEAR_HPT; never in qemu-tcg

  // What a partition of `profile` has when nothing else is asked for.
  static Features Default(Profile profile);

  friend bool operator==(const Features&, const Features&) = default;
};

struct PartitionConfig {
  Profile profile = Profile::kKvmHv;
  Processor processor = Processor::kPower8;
  MmuKind mmu = MmuKind::kHash;
  int order = 24;                    // log2 of HPT bytes, 18..46
  std::vector<MemoryRegion> memory;  // at least one RAM region; none may overlap
  mmu::PageSizeTable page_sizes = mmu::PageSizeTable::Power();
  // Pairs that H_BLOCK_REMOVE takes, in blocks of 8 base pages.
  std::vector<mmu::PageSizes> block_remove_sizes = {
      {mmu::k4K, mmu::k4K}, {mmu::k64K, mmu::k64K}, {mmu::k4K, mmu::k16M}, {mmu::k64K, mmu::k16M}};
  Features features;
  bool resize_permitted = true;  // false: H_RESIZE_HPT_* answer H_AUTHORITY
  int max_order = 0;             // largest order a resize may ask for; 0: DefaultMaxOrder()
  ResizePreparation resize_preparation = ResizePreparation::kBackground;
  bool strict_flags = false;           // undefined flag bits: H_PARAMETER instead of ignored
  uint64_t hash_opcode_base = 0xf900;  // opcode of H_HASH_REMOVE; the others follow at +4, +8
  // Keeps a reverse map and a dirty log (hcall/guest_pages.h); for orders up to 35 only.
  bool track_guest_pages = false;
  std::shared_ptr<GuestMemory> guest_memory;      // may be null
  std::shared_ptr<mmu::MemoryBudget> hpt_budget;  // may be null: no limit

  // INVALID_ARGUMENT, with the name of the field first, if the configuration cannot be.
  absl::Status Validate() const;

  bool qemu() const { return profile == Profile::kQemuTcg; }
  uint64_t RamBytes() const;
  // order_for_ram(RAM) + 1, QEMU's rule: clamp(log2(RAM rounded up to a power of two) - 7, 18, 46),
  // plus 1; or `max_order` if that is set. With track_guest_pages never above 35.
  int MaxOrder() const;
};

// Order of the HPT that suits `ram_bytes`: 1/128 of RAM rounded up to a power of two, 18..46.
int OrderForRam(uint64_t ram_bytes);

std::string_view ProfileName(Profile profile);        // "kvm-hv", "qemu-tcg"
std::string_view ProcessorName(Processor processor);  // "power7" ...

}  // namespace papr::hcall

#endif  // HCALL_PARTITION_CONFIG_H_

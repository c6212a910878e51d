// H_BLOCK_REMOVE, 0x328 (LoPAR "H_BLOCK_REMOVE"): up to eight entries of one aligned block of eight
// virtual pages.

#include <algorithm>
#include <array>
#include <optional>

#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"
#include "mmu/virtual_address.h"

namespace papr::hcall {
namespace {

constexpr int kSpecifiers = 8;
constexpr int kBlockShift = 3;  // log2 of pages in a block

// Translation specifier, request and response. Byte 0 is the control byte, byte 1 reserved.
constexpr uint64_t kPtexMask = 0x0000ffffffffffff;
constexpr uint64_t kAvpnTest = 0x0100000000000000;  // control bit 7
constexpr int kTypeShift = 62;
constexpr int kPageStateShift = 60;
constexpr int kCodeShift = 59;
constexpr uint64_t kTypeRequest = 1;
constexpr uint64_t kTypeEnd = 3;
constexpr uint64_t kPageStateReserved = 1;

enum class Code : uint8_t {
  kSuccess = 0,
  kNotFound = 1,
  kParameter = 2,
  kSizeDiffers = 3,
  kBusy = 4,
  kOtherBlock = 5,
};

constexpr uint64_t Respond(uint64_t ts, Code code) {
  return (uint64_t{2} << kTypeShift) | (static_cast<uint64_t>(code) << kCodeShift) |
         (ts & (kAvpnTest | kPtexMask));
}

// What the first entry fixes for all others of the call.
struct Anchor {
  mmu::PageSizes sizes;
  mmu::VirtualAddress block;  // its first address
};

// The entries that passed every test, locked until all of them are invalid.
class BlockRemoval {
 public:
  BlockRemoval(Partition& partition, uint64_t ava) : partition_(partition), ava_(ava) {}

  // Takes one request into the set, or tells why not.
  Code Add(uint64_t ts, int position) {
    HashPageTable& table = partition_.table();
    const uint64_t ptex = ts & kPtexMask;
    if (!table.Contains(ptex)) return Code::kParameter;
    // Holding locks already, this thread must not wait for another.
    auto entry = table.TryLockIfValid(ptex);
    if (!entry.has_value()) {
      return (table.PeekV(ptex) & mmu::kVValid) != 0 ? Code::kBusy : Code::kNotFound;
    }
    const Code code = Test(ts, *entry);
    if (code == Code::kSuccess) set_[position].emplace(std::move(*entry));
    return code;
  }

  // Invalidates the set, then answers each of its requests with the final R and C.
  void Finish(uint64_t* specifiers) {
    for (int i = 0; i < kSpecifiers; ++i) {
      if (!set_[i].has_value()) continue;
      const mmu::Hpte old = RemoveEntry(partition_, *set_[i]);
      specifiers[i] = Respond(specifiers[i], Code::kSuccess) |
                      ((old.r & mmu::kRReferenced) != 0 ? uint64_t{1} << 58 : 0) |
                      ((old.r & mmu::kRChanged) != 0 ? uint64_t{1} << 57 : 0);
    }
  }

 private:
  Code Test(uint64_t ts, const HashPageTable::LockedEntry& entry) {
    if ((entry.v() & mmu::kVBolted) != 0) return Code::kNotFound;
    const auto& config = partition_.config();
    const auto sizes = config.page_sizes.Decode(entry.v(), entry.r());
    const auto& offered = config.block_remove_sizes;
    if (!sizes.has_value() || std::find(offered.begin(), offered.end(), *sizes) == offered.end()) {
      return Code::kParameter;
    }
    if ((ts & kAvpnTest) != 0 && !mmu::MatchesAvpn(entry.v(), ava_)) return Code::kNotFound;
    if (((ts >> kPageStateShift) & 3) == kPageStateReserved) return Code::kParameter;
    const auto va = mmu::RecoverVirtualAddress(entry.hpte(), entry.ptex(), sizes->base);
    const auto block = mmu::RoundDown(va, sizes->base + kBlockShift);
    if (!anchor_.has_value()) {
      anchor_ = Anchor{*sizes, block};
      return Code::kSuccess;
    }
    if (anchor_->sizes != *sizes || anchor_->block.segment != block.segment) {
      return Code::kSizeDiffers;
    }
    return anchor_->block == block ? Code::kSuccess : Code::kOtherBlock;
  }

  Partition& partition_;
  const uint64_t ava_;
  std::optional<Anchor> anchor_;
  std::array<std::optional<HashPageTable::LockedEntry>, kSpecifiers> set_;
};

}  // namespace

Outcome BlockRemove(Partition& partition, Registers& registers) {
  // TS0..TS7 come in R5..R12 and go back in R4..R11.
  std::array<uint64_t, kSpecifiers> specifiers;
  std::copy_n(registers.begin() + 1, kSpecifiers, specifiers.begin());
  int64_t return_code = kHSuccess;
  {
    BlockRemoval removal(partition, registers[0]);
    for (int i = 0; i < kSpecifiers; ++i) {
      const uint64_t ts = specifiers[i];
      if (ts >> kTypeShift == kTypeEnd) break;
      if (ts >> kTypeShift != kTypeRequest) {
        return_code = kHParameter;
        break;
      }
      if (const Code code = removal.Add(ts, i); code != Code::kSuccess) {
        specifiers[i] = Respond(ts, code);
        return_code = kHPartial;
      }
    }
    removal.Finish(specifiers.data());
  }
  std::copy(specifiers.begin(), specifiers.end(), registers.begin());
  return {return_code, kSpecifiers};
}

}  // namespace papr::hcall

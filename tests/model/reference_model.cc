#include "tests/model/reference_model.h"

namespace papr::model {
namespace {

// Flags of the calls that have a flags word in R4, by the table of the flags word.
constexpr uint64_t kCookie = 0xffff000000000000;
constexpr uint64_t kCmo = 0x0000000f00000000;
constexpr uint64_t kCompression = 0xc0;
constexpr uint64_t kEnterFlags = kCookie | 0x8000000000 | kCmo | 0x800000 | 0x400000 | 0x200000 |
                                 0x1e0000 | 0x8000 | kCompression;
constexpr uint64_t kReadFlags = kCookie | 0x4000000000 | 0x2000000000 | kCmo;
constexpr uint64_t kHashRemoveFlags = kCmo | 0x80000000 | 0x40000000;
constexpr uint64_t kRemoveFlags = kHashRemoveFlags | kCompression;
constexpr uint64_t kProtectFlags = kCmo | 0x80000000 | 0x3000 | 0xe00 | 0x100 | 0x4 | 0x3;

}  // namespace

ReferenceModel::ReferenceModel(const hcall::PartitionConfig& config)
    : config_(config), order_(config.order) {
  if (qemu()) ground_.v = kDirty;
}

Entry ReferenceModel::At(uint64_t ptex) const {
  const auto found = entries_.find(ptex);
  return found == entries_.end() ? ground_ : found->second;
}

std::optional<int> ReferenceModel::pending_order() const {
  if (!pending_) return std::nullopt;
  return pending_->order;
}

std::optional<uint64_t> ReferenceModel::ServedCall(uint64_t opcode) const {
  const hcall::Features& on = config_.features;
  const auto if_on = [](uint64_t call, bool served) {
    return served ? std::optional<uint64_t>(call) : std::nullopt;
  };
  const uint64_t hash_base = config_.hash_opcode_base;
  if (opcode == hash_base) return if_on(hcall::kHHashRemove, on.hash && !radix());
  if (opcode == hash_base + 4) return if_on(hcall::kHHashProtect, on.hash && !radix());
  if (opcode == hash_base + 8) return if_on(hcall::kHHashBulkRemove, on.hash && !radix());
  switch (opcode) {
    case hcall::kHEnter:
    case hcall::kHRead:
    case hcall::kHRemove:
    case hcall::kHProtect:
      return if_on(opcode, !radix());
    case hcall::kHClearRef:
    case hcall::kHClearMod:
      return if_on(opcode, on.clear_rc && !qemu() && !radix());
    case hcall::kHBulkRemove:
      return if_on(opcode, on.bulk_remove && !radix());
    case hcall::kHBlockRemove:
      return if_on(opcode, on.block_remove && !qemu() && !radix());
    case hcall::kHClearHpt:
      return if_on(opcode, on.clear_hpt && !qemu() && !radix());
    case hcall::kHPageInit:
      return if_on(opcode, on.page_init);
    case hcall::kHResizeHptPrepare:
    case hcall::kHResizeHptCommit:
      return if_on(opcode, on.resize);  // A radix partition is told H_NOT_AVAILABLE.
    case hcall::kHRegisterProcTbl:
      return if_on(opcode, config_.processor == hcall::Processor::kPower9 && !radix());
    default:
      return std::nullopt;
  }
}

bool ReferenceModel::FlagsAreDefined(uint64_t call, uint64_t flags) const {
  switch (call) {
    case hcall::kHEnter:
      return (flags & ~kEnterFlags) == 0;
    case hcall::kHRead:
      return (flags & ~kReadFlags) == 0;
    case hcall::kHRemove:
      return (flags & ~kRemoveFlags) == 0;
    case hcall::kHHashRemove:
      return (flags & ~kHashRemoveFlags) == 0;
    case hcall::kHProtect:
    case hcall::kHHashProtect:
      return (flags & ~kProtectFlags) == 0;
    case hcall::kHClearRef:
    case hcall::kHClearMod:
      return (flags & ~kCmo) == 0;
    default:
      return true;  // R4 is no flags word, or the call checks it itself.
  }
}

hcall::HcallResult ReferenceModel::Hcall(const hcall::HcallRequest& request) {
  const Registers& in = request.registers;
  if (request.problem_state) return NoOutputs(in, hcall::kHPrivilege);
  const std::optional<uint64_t> call = ServedCall(request.opcode);
  if (!call) return NoOutputs(in, hcall::kHFunction);
  if (config_.strict_flags && !FlagsAreDefined(*call, in[0])) {
    return NoOutputs(in, hcall::kHParameter);
  }
  switch (*call) {
    case hcall::kHEnter:
      return Enter(in);
    case hcall::kHRead:
      return Read(in);
    case hcall::kHRemove:
      return Remove(in);
    case hcall::kHProtect:
      return Protect(in);
    case hcall::kHClearRef:
      return ClearReferenceOrChange(in, kReferenced);
    case hcall::kHClearMod:
      return ClearReferenceOrChange(in, kChanged);
    case hcall::kHHashRemove:
      return HashRemove(in);
    case hcall::kHHashProtect:
      return HashProtect(in);
    case hcall::kHBulkRemove:
      return BulkRemove(in, FoundBy::kIndex);
    case hcall::kHHashBulkRemove:
      return BulkRemove(in, FoundBy::kHash);
    case hcall::kHBlockRemove:
      return BlockRemove(in);
    case hcall::kHResizeHptPrepare:
      return ResizePrepare(in);
    case hcall::kHResizeHptCommit:
      return ResizeCommit(in);
    case hcall::kHPageInit:
      return PageInit(in);
    case hcall::kHClearHpt:
      return ClearHpt(in);
    default:
      return RegisterProcessTable(in);
  }
}

bool ReferenceModel::SetReferenceChange(const hcall::ReferenceChange& update) {
  if (update.ptex >= entry_count() || !Present(update.ptex)) return false;
  Entry entry = At(update.ptex);
  if (update.referenced) entry.r |= kReferenced;
  if (update.changed) entry.r |= kChanged;
  Set(update.ptex, entry);
  return true;
}

ReferenceModel::Statistics ReferenceModel::GetStatistics() const {
  Statistics sum;
  for (const auto& [ptex, entry] : entries_) {
    if ((entry.v & kPresent) == 0) continue;
    ++sum.valid;
    if ((entry.v & kBolted) != 0) ++sum.bolted;
    if ((entry.v & kSecondary) != 0) ++sum.secondary;
    if ((entry.v & kLarge) != 0) ++sum.large;
    sum.digest += DigestTerm(ptex, entry);
  }
  return sum;
}

const hcall::MemoryRegion* ReferenceModel::RegionAt(uint64_t address) const {
  for (const hcall::MemoryRegion& region : config_.memory) {
    if (address >= region.base && address - region.base < region.size) return &region;
  }
  return nullptr;
}

bool ReferenceModel::IsRam(uint64_t address) const {
  const hcall::MemoryRegion* region = RegionAt(address);
  return region != nullptr && region->kind == hcall::MemoryRegion::Kind::kRam;
}

}  // namespace papr::model

// H_BULK_REMOVE, 0x124 (LoPAR "H_BULK_REMOVE").

#include "hcall/batch_loop.h"
#include "hcall/bulk_specifier.h"
#include "hcall/entry_ops.h"
#include "hcall/hcall_table.h"

namespace papr::hcall {
namespace {

bool Passes(BulkTest test, uint64_t v, uint64_t tsl) {
  switch (test) {
    case BulkTest::kAndCond:
      return (v & tsl) == 0;
    case BulkTest::kAvpn:
      return mmu::MatchesAvpn(v, tsl);
    default:
      return true;
  }
}

// One request with a legal target: its response.
uint64_t RemoveOne(Partition& partition, uint64_t tsh, uint64_t tsl) {
  auto entry = LockForRemoval(partition.table(), TargetOf(tsh));
  if (!entry.has_value() || !Passes(TestOf(tsh), entry->v(), tsl)) {
    return Respond(tsh, BulkCode::kNotFound);
  }
  const mmu::Hpte old = RemoveEntry(partition, *entry);
  return Respond(tsh, BulkCode::kSuccess) |
         (partition.qemu() ? BulkReferenceChangeOfQemu(old.r) : BulkReferenceChange(old.r));
}

}  // namespace

Outcome BulkRemove(Partition& partition, Registers& registers) {
  constexpr int kOutputs = 2 * kBulkSpecifiers;
  for (int i = 0; i < kBulkSpecifiers; ++i) {
    uint64_t& tsh = registers[2 * i];
    const uint64_t tsl = registers[2 * i + 1];
    if (TypeOf(tsh) == BulkType::kEnd) break;
    if (TypeOf(tsh) != BulkType::kRequest) {
      if (!partition.qemu()) tsh = Respond(tsh, BulkCode::kParameter);
      return {kHParameter, kOutputs};
    }
    if (TestOf(tsh) == BulkTest::kInvalid || !partition.table().Contains(TargetOf(tsh))) {
      tsh = Respond(tsh, BulkCode::kParameter);
      return {kHParameter, kOutputs};
    }
    tsh = RemoveOne(partition, tsh, tsl);
  }
  return {kHSuccess, kOutputs};
}

[[gnu::flatten]] size_t BulkRemoveLoop(Partition& partition, std::span<const HcallRequest> requests,
                                       BatchMode mode, std::span<HcallResult> results) {
  return LoopOver<BulkRemove, PrefetchBulk, PrefetchBulkAgain>(partition, requests, mode, results);
}

}  // namespace papr::hcall

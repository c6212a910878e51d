// The pending table of an HPT resize: prepared beside the current one by H_RESIZE_HPT_PREPARE,
// taken by H_RESIZE_HPT_COMMIT (LoPAR "Hash Page Table Resize Option"). At most one is pending.
//
// Threads: every function may be called from any thread; what a sequence of them means is up to the
// caller. Preparation in the background runs on a thread of its own, which ends by itself and is
// joined when the pending table is discarded or taken.

#ifndef HCALL_HPT_RESIZE_H_
#define HCALL_HPT_RESIZE_H_

#include <cstdint>
#include <memory>
#include <mutex>

#include "hcall/abi.h"
#include "hcall/partition_config.h"
#include "mmu/hash_page_table.h"

namespace papr::hcall {

class HptResize {
 public:
  enum class State : uint8_t { kNone, kPreparing, kReady };
  struct Pending {
    State state = State::kNone;
    int order = 0;
    int64_t return_code = kHSuccess;  // how the preparation ended, if kReady
  };

  HptResize();
  ~HptResize();

  Pending pending() const;

  // Drops the pending table, if any.
  void Discard();

  // Drops the pending table, if any, and starts to prepare one of 2^order bytes, charged to
  // `budget`. A preparation that fails ends with kHNoMem.
  void Start(int order, ResizePreparation how, std::shared_ptr<mmu::MemoryBudget> budget);

  // Ends a MANUAL preparation with `return_code`; kHSuccess makes the table, which may turn it into
  // kHNoMem. False: none of this order is being prepared.
  bool Finish(int order, int64_t return_code);

  // The prepared table, and leaves none pending. Null unless pending() is kReady with kHSuccess.
  std::unique_ptr<mmu::HashPageTable> Take();

 private:
  class Preparation;

  mutable std::mutex mutex_;
  std::shared_ptr<Preparation> preparation_;  // null: none
};

}  // namespace papr::hcall

#endif  // HCALL_HPT_RESIZE_H_

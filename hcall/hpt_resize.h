// The pending table of an HPT resize: prepared beside the current one by H_RESIZE_HPT_PREPARE,
// taken by H_RESIZE_HPT_COMMIT (LoPAR "Hash Page Table Resize Option"). At most one is pending.
//
// Threads: every function may be called from any thread. Preparation in the background runs on a
// thread of its own, joined when the pending table is discarded or taken.

#ifndef HCALL_HPT_RESIZE_H_
#define HCALL_HPT_RESIZE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "hcall/partition_config.h"
#include "mmu/hash_page_table.h"

namespace papr::hcall {

class HptResize {
 public:
  HptResize();
  ~HptResize();

  enum class State : uint8_t { kNone, kPreparing, kReady };
  struct Pending {
    State state = State::kNone;
    int order = 0;
    int64_t return_code = 0;  // how the preparation ended, if kReady
  };

  Pending pending() const;
  // Drops the pending table, if any.
  void Discard();
  // Requires none pending. Starts to prepare a table of 2^order bytes.
  void Start(int order, ResizePreparation how, std::shared_ptr<mmu::MemoryBudget> budget);
  // Ends the preparation of a MANUAL partition. False: none of this order is being prepared.
  bool Finish(int order, int64_t return_code, std::shared_ptr<mmu::MemoryBudget> budget);
  // Takes the table and leaves none pending. Requires kReady with return code 0.
  std::unique_ptr<mmu::HashPageTable> Take();

 private:
  struct Preparation;
  mutable std::mutex mutex_;
  std::shared_ptr<Preparation> preparation_;
};

}  // namespace papr::hcall

#endif  // HCALL_HPT_RESIZE_H_

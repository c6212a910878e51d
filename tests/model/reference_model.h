// A partition as the hypercall specification describes it, one step after the other, with a map for
// a table: slow, sequential, and short enough to be checked against the text by eye. The engine in
// hcall/ is compared with it on random hypercalls. It shares with the engine only the ABI's numbers
// and the configuration's data; it calls none of the functions of hcall/ or mmu/ that decide
// anything.
//
// One thread at a time.
//
// Left out: a resize that is prepared in the background (every preparation ends by
// FinishResizePreparation()), the limit on table memory, and the export of changes.

#ifndef TESTS_MODEL_REFERENCE_MODEL_H_
#define TESTS_MODEL_REFERENCE_MODEL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <variant>

#include "hcall/abi.h"
#include "hcall/partition.h"
#include "hcall/partition_config.h"
#include "tests/model/reference_entry.h"

namespace papr::model {

class ReferenceModel {
 public:
  // `config` must be one that a partition can be made of. Its guest_memory, if any, is written to.
  explicit ReferenceModel(const hcall::PartitionConfig& config);

  // Runs one hypercall; any opcode and registers. `output_count` is the number of registers that
  // the call defines as outputs for its return code; the others keep their argument.
  hcall::HcallResult Hcall(const hcall::HcallRequest& request);

  // What a table walk does to R and C. False, and nothing changed: the entry is out of range or not
  // present.
  bool SetReferenceChange(const hcall::ReferenceChange& update);

  // Ends the preparation of a table of 2^order bytes. False: none of that order is being prepared.
  bool FinishResizePreparation(int order, int64_t return_code);

  struct Statistics {
    uint64_t valid = 0;
    uint64_t bolted = 0;     // of the valid ones, like the next two
    uint64_t secondary = 0;  // H set
    uint64_t large = 0;      // L set
    uint64_t digest = 0;

    friend bool operator==(const Statistics&, const Statistics&) = default;
  };
  Statistics GetStatistics() const;

  bool qemu() const { return config_.profile == hcall::Profile::kQemuTcg; }
  bool radix() const { return config_.mmu == hcall::MmuKind::kRadix; }
  // log2 of the table's bytes; 0 for a radix partition.
  int order() const { return radix() ? 0 : order_; }
  uint64_t entry_count() const { return radix() ? 0 : uint64_t{1} << (order_ - 4); }
  uint64_t group_mask() const { return (uint64_t{1} << (order_ - 7)) - 1; }
  // Both words as stored. Requires ptex < entry_count().
  Entry At(uint64_t ptex) const;
  bool Present(uint64_t ptex) const { return (At(ptex).v & kPresent) != 0; }
  // Order of the table that is pending, if one is.
  std::optional<int> pending_order() const;

 private:
  using Registers = hcall::Registers;
  using Result = hcall::HcallResult;

  // Calls on one entry (reference_entry_calls.cc).
  Result Enter(const Registers& in);
  Result Read(const Registers& in) const;
  Result Remove(const Registers& in);
  Result Protect(const Registers& in);
  Result ClearReferenceOrChange(const Registers& in, uint64_t bit);
  Result HashRemove(const Registers& in);
  Result HashProtect(const Registers& in);

  // Calls on several (reference_bulk_calls.cc).
  enum class FoundBy : uint8_t { kIndex, kHash };
  Result BulkRemove(const Registers& in, FoundBy found_by);
  Result BlockRemove(const Registers& in);

  // Calls on the table and on memory (reference_table_calls.cc).
  Result ResizePrepare(const Registers& in);
  Result ResizeCommit(const Registers& in);
  Result PageInit(const Registers& in);
  Result ClearHpt(const Registers& in);
  Result RegisterProcessTable(const Registers& in) const;

  // A call that gives no outputs: the registers stay as they came.
  static Result NoOutputs(const Registers& in, int64_t return_code) { return {return_code, 0, in}; }

  // The number in abi.h of the call that this partition serves under `opcode`; nothing if it
  // answers H_FUNCTION.
  std::optional<uint64_t> ServedCall(uint64_t opcode) const;
  bool FlagsAreDefined(uint64_t call, uint64_t flags) const;

  bool IsRam(uint64_t address) const;
  const hcall::MemoryRegion* RegionAt(uint64_t address) const;
  // Steps 4 and 5 of H_ENTER: may a page of 2^actual_shift bytes with this R be entered?
  bool AddressIsAllowed(uint64_t r, int actual_shift) const;
  int LargestOrder() const;

  void Set(uint64_t ptex, const Entry& entry) { entries_[ptex] = entry; }
  // Makes an entry invalid and returns what it was.
  Entry Take(uint64_t ptex);
  void ApplyProtection(uint64_t ptex, uint64_t flags);
  std::optional<uint64_t> Find(uint64_t hash, uint64_t avpn) const;

  using Entries = std::unordered_map<uint64_t, Entry>;
  // The bolted entries where they stand in a table of 2^new_order bytes; the error if two need one
  // slot or one cannot be placed.
  std::variant<Entries, hcall::ReturnCode> Rehash(int new_order) const;

  struct Pending {
    int order = 0;
    bool ready = false;
    int64_t return_code = hcall::kHSuccess;
  };

  const hcall::PartitionConfig config_;
  int order_;
  Entry ground_;     // what an entry reads as that was never stored
  Entries entries_;  // by ptex
  std::optional<Pending> pending_;
};

}  // namespace papr::model

#endif  // TESTS_MODEL_REFERENCE_MODEL_H_

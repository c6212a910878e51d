// The functions that implement the hcalls, one for each entry of kServedOpcodes. Called by
// Dispatch(), and by what stores entries as a call does, with a Quiescence guard of the partition
// held: the exclusive one for calls of NeedsExclusive(), a shared one for all others.

#ifndef HCALL_HCALL_TABLE_H_
#define HCALL_HCALL_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "hcall/abi.h"
#include "hcall/partition.h"

namespace papr::hcall {

// What a call returns in R3, and how many registers from R4 up are outputs for it.
struct Outcome {
  int64_t return_code;
  int output_count = 0;
};

// `registers` holds R4..R12 of the caller and takes the outputs in place.
using HcallFunction = Outcome (*)(Partition& partition, Registers& registers);

// Of a partition with a hashed page table only.
Outcome Remove(Partition& partition, Registers& registers);
Outcome Enter(Partition& partition, Registers& registers);
Outcome Read(Partition& partition, Registers& registers);
Outcome ClearMod(Partition& partition, Registers& registers);
Outcome ClearRef(Partition& partition, Registers& registers);
Outcome Protect(Partition& partition, Registers& registers);
Outcome BulkRemove(Partition& partition, Registers& registers);
Outcome BlockRemove(Partition& partition, Registers& registers);
Outcome ClearHpt(Partition& partition, Registers& registers);
Outcome RegisterProcTbl(Partition& partition, Registers& registers);
Outcome HashRemove(Partition& partition, Registers& registers);
Outcome HashProtect(Partition& partition, Registers& registers);
Outcome HashBulkRemove(Partition& partition, Registers& registers);
// Of any partition.
Outcome PageInit(Partition& partition, Registers& registers);
Outcome ResizeHptPrepare(Partition& partition, Registers& registers);
Outcome ResizeHptCommit(Partition& partition, Registers& registers);

// Runs requests that are all of one call, in order, and stores result i in results[i]. Returns how
// many ran. Fetches ahead, but not the entries of the first kPrefetchDistance (hcall/prefetch.h).
using HcallLoop = size_t (*)(Partition& partition, std::span<const HcallRequest> requests,
                             BatchMode mode, std::span<HcallResult> results);

size_t RemoveLoop(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                  std::span<HcallResult> results);
size_t EnterLoop(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                 std::span<HcallResult> results);
size_t ReadLoop(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                std::span<HcallResult> results);
size_t ProtectLoop(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                   std::span<HcallResult> results);
size_t BulkRemoveLoop(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                      std::span<HcallResult> results);
size_t HashRemoveLoop(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                      std::span<HcallResult> results);
size_t HashProtectLoop(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                       std::span<HcallResult> results);
size_t HashBulkRemoveLoop(Partition& partition, std::span<const HcallRequest> requests,
                          BatchMode mode, std::span<HcallResult> results);

}  // namespace papr::hcall

#endif  // HCALL_HCALL_TABLE_H_

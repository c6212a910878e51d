// Compares a partition's whole table, read by H_READ, with a recorded one.

#ifndef CLIENT_WORKLOAD_TABLE_COMPARE_H_
#define CLIENT_WORKLOAD_TABLE_COMPARE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/hypervisor.h"
#include "hcall/trace.h"
#include "mmu/hpte.h"

namespace papr::client {

// Reads `count` entries from `first` on, both multiples of 4, with H_READ and the read-4 flag,
// `batch` hcalls a round trip, and calls visit(ptex, hpte) for each in
// ascending order. Stops early if `visit` returns false. INTERNAL: an H_READ did not return
// H_SUCCESS with four entries; else the transport's error.
absl::Status ReadTable(Hypervisor* hypervisor, uint64_t first, uint64_t count, size_t batch,
                       absl::FunctionRef<bool(uint64_t ptex, const mmu::Hpte& hpte)> visit);

// Compares every entry of the current table, which has 2^expected.order bytes, with `expected`: the
// listed entries and, for all others, the ground. Calls differs(ptex, expected, got) for each that
// is not the same in all 128 bits. Returns the number of entries compared.
absl::StatusOr<uint64_t> CompareTable(
    Hypervisor* hypervisor, const hcall::TraceFinal& expected, size_t batch,
    absl::FunctionRef<void(uint64_t ptex, const mmu::Hpte& expected, const mmu::Hpte& got)>
        differs);

}  // namespace papr::client

#endif  // CLIENT_WORKLOAD_TABLE_COMPARE_H_

// The work that the engine benchmarks time: one kind of hcall on many random entries of a half full
// table, one by one or in batches, and what it is compared with: bare accesses, null handlers.

#ifndef TESTS_BENCH_ENGINE_WORK_H_
#define TESTS_BENCH_ENGINE_WORK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hcall/abi.h"
#include "tests/bench/half_full_table.h"

namespace papr::bench {

enum class Call : uint8_t { kEnter, kRemove, kProtect, kRead, kHashRemove, kHashProtect };
inline constexpr Call kCalls[] = {Call::kEnter, Call::kRemove,     Call::kProtect,
                                  Call::kRead,  Call::kHashRemove, Call::kHashProtect};
std::string_view CallName(Call call);
// The calls that search a PTEG; the others are given the slot.
constexpr bool Searches(Call call) {
  return call == Call::kEnter || call == Call::kHashRemove || call == Call::kHashProtect;
}

// kAfterEach: an operation begins when the one before is complete, as those of a guest do.
enum class Fence : uint8_t { kNone, kAfterEach };

// One operation of a timed loop, compact so that reading it costs little.
struct Operation {
  uint64_t target;  // ptex, or the hash
  uint64_t v;       // V of H_ENTER, else the AVPN
  uint64_t r;       // R of H_ENTER
  uint64_t ptex;    // the entry that any implementation has to access; after H_ENTER, that entered
};

// `count` operations of `call` on different random pages that all succeed.
std::vector<Operation> Prepare(HalfFullTable& table, Call call, size_t count);
// Takes back what the hcalls of Prepare()'s last list did, so that the table is half full again.
void Restore(HalfFullTable& table, Call call, std::span<const Operation> operations);

// The loops to be timed. Those with hcalls end the program if one fails, for that would not be the
// work that is measured.
void RunHcalls(hcall::Partition& partition, Call call, std::span<Operation> operations,
               Fence fence);
// In batches of `frame` hcalls; filling in the requests is part of it.
void RunBatches(hcall::Partition& partition, Call call, std::span<Operation> operations,
                size_t frame);
// Through the same dispatcher to a handler that does only the access.
void RunNull(hcall::Partition& partition, Call call, std::span<const Operation> operations,
             Fence fence);
void RunBare(hcall::Partition& partition, Call call, std::span<const Operation> operations,
             Fence fence);
// Each entry is fetched 16 accesses ahead.
void RunBareWithPrefetch(hcall::Partition& partition, Call call,
                         std::span<const Operation> operations);

}  // namespace papr::bench

#endif  // TESTS_BENCH_ENGINE_WORK_H_

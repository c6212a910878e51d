// The way of an hcall through the dispatcher, over any table of functions: dispatch.cc runs it over
// the hcalls, a benchmark over functions that do nothing but touch the entry.

#ifndef HCALL_DISPATCHER_H_
#define HCALL_DISPATCHER_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "hcall/abi.h"
#include "hcall/dispatch.h"
#include "hcall/hcall_table.h"
#include "hcall/partition.h"
#include "hcall/quiescence.h"

namespace papr::hcall {

struct HcallEntry {
  HcallFunction function;
  bool needs_hpt;  // a radix partition answers H_FUNCTION
  bool exclusive;  // runs alone in its partition
  std::string_view name;
};

// `kTable` holds kOtherHcall entries, by position as kServedOpcodes.
template <const auto& kTable>
class Dispatcher {
 public:
  // See DispatchBatch().
  static size_t RunBatch(Partition& partition, std::span<const HcallRequest> requests,
                         BatchMode mode, std::span<HcallResult> results) {
    size_t i = 0;
    while (i < requests.size()) {
      const size_t begin = i;
      if (IsExclusive(HcallKind(partition, requests[i].opcode))) {
        const Quiescence::Exclusive guard(partition.quiescence());
        Run(partition, HcallKind(partition, requests[i].opcode), requests[i], results[i]);
        ++i;
      } else {
        i = RunShared(partition, requests, i, mode, results);
      }
      if (mode == BatchMode::kStopAtFirstError && i > begin &&
          results[i - 1].return_code != kHSuccess) {
        break;
      }
    }
    return i;
  }

  // One hcall, as RunBatch() of one.
  static void RunOne(Partition& partition, const HcallRequest& request, HcallResult& result) {
    const int kind = HcallKind(partition, request.opcode);
    if (IsExclusive(kind)) {
      const Quiescence::Exclusive guard(partition.quiescence());
      Run(partition, kind, request, result);
    } else {
      const Quiescence::Shared guard(partition.quiescence());
      Run(partition, kind, request, result);
    }
  }

 private:
  // Hcalls of a batch under one guard: long enough that its cost vanishes, short enough (some 25
  // us) that a resize commit need not wait long.
  static constexpr size_t kGuardedRun = 256;

  static bool IsExclusive(int kind) { return kind != kOtherHcall && kTable[kind].exclusive; }

  // Runs requests from `i` on under one guard; returns where it stopped: at the end of the run,
  // before an exclusive call, or behind a failure if that ends the batch.
  static size_t RunShared(Partition& partition, std::span<const HcallRequest> requests, size_t i,
                          BatchMode mode, std::span<HcallResult> results) {
    const Quiescence::Shared guard(partition.quiescence());
    const size_t end = std::min(requests.size(), i + kGuardedRun);
    while (i < end) {
      const int kind = HcallKind(partition, requests[i].opcode);
      if (IsExclusive(kind)) break;
      Run(partition, kind, requests[i], results[i]);
      ++i;
      if (mode == BatchMode::kStopAtFirstError && results[i - 1].return_code != kHSuccess) break;
    }
    return i;
  }

  // Requires the guard that the hcall needs.
  static void Run(Partition& partition, int kind, const HcallRequest& request,
                  HcallResult& result) {
    result.registers = request.registers;
    result.output_count = 0;
    if (request.problem_state) {
      result.return_code = kHPrivilege;
      return;
    }
    if (kind == kOtherHcall || !partition.Enabled(kind) ||
        (kTable[kind].needs_hpt && partition.config().mmu == MmuKind::kRadix)) {
      result.return_code = kHFunction;
      return;
    }
    const Outcome outcome = kTable[kind].function(partition, result.registers);
    result.return_code = outcome.return_code;
    result.output_count = outcome.output_count;
  }
};

}  // namespace papr::hcall

#endif  // HCALL_DISPATCHER_H_

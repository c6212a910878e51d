// The way of an hcall through the dispatcher, over any table of functions: dispatch.cc runs it over
// the hcalls, a benchmark over functions that do nothing but touch the entry.

#ifndef HCALL_DISPATCHER_H_
#define HCALL_DISPATCHER_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "hcall/abi.h"
#include "hcall/batch_loop.h"
#include "hcall/dispatch.h"
#include "hcall/hcall_table.h"
#include "hcall/partition.h"
#include "hcall/prefetch.h"
#include "hcall/quiescence.h"

namespace papr::hcall {

struct HcallEntry {
  HcallFunction function = nullptr;
  std::string_view name;
  bool exclusive = false;            // runs alone in its partition
  HcallLoop loop = nullptr;          // runs many in a row; null: one by one
  HcallPrefetch prefetch = nullptr;  // null: nothing worth to fetch ahead
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
        results[i] = RunOne(partition, requests[i]);
        ++i;
      } else {
        i += RunShared(partition, requests.subspan(i), mode, results.subspan(i));
      }
      if (mode == BatchMode::kStopAtFirstError && i > begin &&
          results[i - 1].return_code != kHSuccess) {
        break;
      }
    }
    return i;
  }

  // One hcall, as RunBatch() of one.
  static HcallResult RunOne(Partition& partition, const HcallRequest& request) {
    HcallResult result = {kHSuccess, 0, CopyOf(request.registers)};
    const int kind = HcallKind(partition, request.opcode);
    if (IsExclusive(kind)) [[unlikely]] {
      const Quiescence::Exclusive guard(partition.quiescence());
      Run(partition, kind, request, result);
    } else {
      const Quiescence::Shared guard(partition.quiescence());
      Run(partition, kind, request, result);
    }
    return result;
  }

 private:
  // Hcalls of a batch under one guard: long enough that its cost vanishes, short enough (some 10
  // us) that a resize commit need not wait long.
  static constexpr size_t kGuardedRun = 256;

  static bool IsExclusive(int kind) { return kind != kOtherHcall && kTable[kind].exclusive; }

  // Whether the hcall answers here; else `refusal` is what it returns.
  static bool Allowed(const Partition& partition, int kind, const HcallRequest& request,
                      int64_t* refusal) {
    if (request.problem_state) [[unlikely]] {
      *refusal = kHPrivilege;
      return false;
    }
    if (!partition.Enabled(kind)) [[unlikely]] {
      *refusal = kHFunction;
      return false;
    }
    return true;
  }

  // Runs requests from the first on under one guard; returns how many: to the end of the guarded
  // run, to an exclusive call, or with a failure if that ends the batch. Runs of equal calls go to
  // their own loop.
  static size_t RunShared(Partition& partition, std::span<const HcallRequest> requests,
                          BatchMode mode, std::span<HcallResult> results) {
    const Quiescence::Shared guard(partition.quiescence());
    requests = requests.first(std::min(requests.size(), kGuardedRun));
    size_t fetched = 0;  // requests whose entries are on their way, by a loop or from here
    size_t i = 0;
    while (i < requests.size()) {
      for (; fetched < std::min(requests.size(), i + kPrefetchDistance); ++fetched) {
        Prefetch(partition, requests[fetched]);
      }
      const int kind = HcallKind(partition, requests[i].opcode);
      if (IsExclusive(kind)) break;
      const size_t begin = i;
      i += RunEqual(partition, kind, requests.subspan(i), mode, results.subspan(i));
      fetched = std::max(fetched, i);
      if (mode == BatchMode::kStopAtFirstError && i > begin &&
          results[i - 1].return_code != kHSuccess) {
        break;
      }
    }
    return i;
  }

  // Runs the first request and those behind it that are the same call, if that has a loop; returns
  // how many ran.
  static size_t RunEqual(Partition& partition, int kind, std::span<const HcallRequest> requests,
                         BatchMode mode, std::span<HcallResult> results) {
    int64_t refusal = 0;
    if (!Allowed(partition, kind, requests[0], &refusal) || kTable[kind].loop == nullptr) {
      results[0].registers = CopyOf(requests[0].registers);
      Run(partition, kind, requests[0], results[0]);
      return 1;
    }
    size_t count = 1;
    while (count < requests.size() && requests[count].opcode == requests[0].opcode &&
           !requests[count].problem_state) {
      ++count;
    }
    return kTable[kind].loop(partition, requests.first(count), mode, results);
  }

  static void Prefetch(Partition& partition, const HcallRequest& request) {
    const int kind = HcallKind(partition, request.opcode);
    if (int64_t unused = 0; kind != kOtherHcall && kTable[kind].prefetch != nullptr &&
                            Allowed(partition, kind, request, &unused)) {
      kTable[kind].prefetch(partition, request.registers);
    }
  }

  // Requires the guard that the hcall needs. `result` holds the registers of the request.
  static void Run(Partition& partition, int kind, const HcallRequest& request,
                  HcallResult& result) {
    result.output_count = 0;
    if (!Allowed(partition, kind, request, &result.return_code)) [[unlikely]]
      return;
    RunInPlace(kTable[kind].function, partition, result);
  }
};

}  // namespace papr::hcall

#endif  // HCALL_DISPATCHER_H_

// The inner loop of a batch: calls of one kind in a row, with the function inlined and the entries
// of later ones on their way while one executes. Each family's file makes its own.

#ifndef HCALL_BATCH_LOOP_H_
#define HCALL_BATCH_LOOP_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "hcall/abi.h"
#include "hcall/hcall_table.h"
#include "hcall/partition.h"
#include "hcall/prefetch.h"

namespace papr::hcall {

// One register at a time: whoever filled the request in did so just now and in this way, and a
// wider load would have to wait until those stores are in the cache.
inline Registers CopyOf(const Registers& registers) {
  const auto copy = [&registers]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    return Registers{*static_cast<const volatile uint64_t*>(&registers[kIndex])...};
  };
  return copy(std::make_index_sequence<kRegisterCount>());
}

// Runs one hcall that is allowed in this partition. `result` holds the registers of the request.
template <typename Function>
void RunInPlace(Function&& function, Partition& partition, HcallResult& result) {
  const Outcome outcome = function(partition, result.registers);
  result.return_code = outcome.return_code;
  result.output_count = outcome.output_count;
}

// An HcallLoop, for callers that are `flatten`. `kSecond` is for tables that are observed.
template <HcallFunction kFunction, HcallPrefetch kPrefetch, HcallPrefetch kSecond = NoPrefetch>
inline size_t LoopOver(Partition& partition, std::span<const HcallRequest> requests, BatchMode mode,
                       std::span<HcallResult> results) {
  const bool observed = kSecond != NoPrefetch && partition.table().observed();
  if (observed) [[unlikely]] {
    for (const auto& request : requests.first(std::min(requests.size(), kSecondPrefetchDistance))) {
      kSecond(partition, request.registers);
    }
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i + kPrefetchDistance < requests.size()) {
      kPrefetch(partition, requests[i + kPrefetchDistance].registers);
    }
    if (observed && i + kSecondPrefetchDistance < requests.size()) [[unlikely]] {
      kSecond(partition, requests[i + kSecondPrefetchDistance].registers);
    }
    results[i].registers = CopyOf(requests[i].registers);
    RunInPlace(kFunction, partition, results[i]);
    if (mode == BatchMode::kStopAtFirstError && results[i].return_code != kHSuccess) return i + 1;
  }
  return requests.size();
}

}  // namespace papr::hcall

#endif  // HCALL_BATCH_LOOP_H_

#include "client/workload/table_compare.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace papr::client {
namespace {

constexpr uint64_t kEntriesPerRead = 4;

}  // namespace

absl::Status ReadTable(Hypervisor* hypervisor, uint64_t first, uint64_t count, size_t batch,
                       absl::FunctionRef<bool(uint64_t ptex, const mmu::Hpte& hpte)> visit) {
  std::vector<hcall::HcallRequest> requests;
  std::vector<hcall::HcallResult> results;
  const uint64_t end = first + count;
  while (first < end) {
    requests.clear();
    for (uint64_t ptex = first; ptex < end && requests.size() < batch; ptex += kEntriesPerRead) {
      requests.push_back(MakeHcall(hcall::kHRead, {hcall::kFlagRead4, ptex}));
    }
    const absl::Status status = hypervisor->HcallBatch(requests, hcall::BatchMode::kAll, &results);
    if (!status.ok()) return status;
    for (const hcall::HcallResult& result : results) {
      if (result.return_code != hcall::kHSuccess || result.output_count != 8) {
        return absl::InternalError(absl::StrFormat("H_READ of entries 0x%x to 0x%x returned %s",
                                                   first, first + kEntriesPerRead - 1,
                                                   hcall::ReturnCodeName(result.return_code)));
      }
      for (size_t i = 0; i < kEntriesPerRead; ++i) {
        if (!visit(first + i, {result.registers[2 * i], result.registers[2 * i + 1]})) {
          return absl::OkStatus();
        }
      }
      first += kEntriesPerRead;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CompareTable(
    Hypervisor* hypervisor, const hcall::TraceFinal& expected, size_t batch,
    absl::FunctionRef<void(uint64_t ptex, const mmu::Hpte& expected, const mmu::Hpte& got)>
        differs) {
  const uint64_t count = uint64_t{1} << (expected.order - 4);
  auto next = expected.entries.begin();
  const absl::Status status =
      ReadTable(hypervisor, 0, count, batch, [&](uint64_t ptex, const mmu::Hpte& got) {
        const bool listed = next != expected.entries.end() && next->first == ptex;
        const mmu::Hpte& want = listed ? next->second : expected.ground;
        if (!(want == got)) differs(ptex, want, got);
        if (listed) ++next;
        return true;
      });
  if (!status.ok()) return status;
  if (next != expected.entries.end()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the final table lists entry 0x%x out of order, or beyond its end", next->first));
  }
  return count;
}

}  // namespace papr::client

// Replays the recorded hcalls of a guest (hcall/trace.h) against a partition, and compares: every
// return code and register, every entry after an H_PROTECT, the digest at every checkpoint, and the
// table at the end, entry for entry.
//
// In profile qemu-tcg the records show the hypervisor's own bit 0x40 of V, which the partition
// keeps too, so everything is compared as it stands; in kvm-hv records and partition both show the
// guest's view.

#ifndef CLIENT_WORKLOAD_REPLAY_H_
#define CLIENT_WORKLOAD_REPLAY_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/machine.h"
#include "client/workload/replay_report.h"
#include "hcall/trace.h"

namespace papr::client {

struct ReplayOptions {
  // Recorded hcalls a round trip at most; they are sent as one HcallBatch. 1: each by itself, as
  // unary Hcall. A batch ends early where the trace has something else to do than hcalls. The
  // tables at the start and at the end go in batches of at least 512. Also the table walks of one
  // SetReferenceChange at most.
  size_t batch = 256;
  // Mismatches that the report keeps in words; all are counted.
  size_t max_reported = 20;
  // ReplayFile() refuses a trace without a final table beside it.
  bool final_required = true;
  // Called about every two seconds; may be empty.
  std::function<void(const ReplayReport& so_far, double fraction)> progress;
  // Asked at every record and before every message; once it says true the replay ends with
  // CANCELLED. May be empty.
  std::function<bool()> cancelled;
};

// A trace that has been opened, and where its text comes from.
struct ReplayInput {
  hcall::TraceReader* trace = nullptr;
  std::string trace_path;                          // for the report
  const hcall::TraceFinal* final_table = nullptr;  // null: not compared
  std::string final_path;                          // for the report
  std::function<double()> fraction;                // how much of the trace is read; may be empty
};

// Replays on `machine`, a fresh partition of the header's configuration. Goes on after a mismatch.
// Errors, with the trace's line: INVALID_ARGUMENT for a malformed trace, those of the machine
// otherwise.
absl::StatusOr<ReplayReport> ReplayOn(Machine* machine, const ReplayInput& input,
                                      const ReplayOptions& options);

// Replays the file `path` (NAME.trace.zst, or uncompressed NAME.trace) with the final table that
// stands beside it (NAME.final.zst, NAME.final) on a partition made for it on `target`.
// Errors also: NOT_FOUND or DATA_LOSS for the files.
absl::StatusOr<ReplayReport> ReplayFile(const std::string& path, std::string_view target,
                                        const ReplayOptions& options);

}  // namespace papr::client

#endif  // CLIENT_WORKLOAD_REPLAY_H_

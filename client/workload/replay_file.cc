// ReplayFile(): a replay from files, on a partition of its own.

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/workload/replay.h"
#include "client/zstd_stream.h"

namespace papr::client {
namespace {

// "dir/NAME.final.zst" for "dir/NAME.trace.zst", and so without ".zst".
std::string FinalPath(const std::string& trace_path) {
  const bool compressed = absl::EndsWith(trace_path, ".zst");
  const absl::string_view plain = absl::StripSuffix(trace_path, ".zst");
  return absl::StrCat(absl::StripSuffix(plain, ".trace"), ".final", compressed ? ".zst" : "");
}

// The final table at `path`; nothing if there is no such file.
absl::StatusOr<std::optional<hcall::TraceFinal>> LoadFinal(const std::string& path) {
  absl::StatusOr<std::unique_ptr<InputFile>> file = InputFile::Open(path);
  if (absl::IsNotFound(file.status())) return std::nullopt;
  if (!file.ok()) return file.status();
  absl::StatusOr<hcall::TraceFinal> table = hcall::ReadTraceFinal((*file)->stream());
  if (!(*file)->status().ok()) return (*file)->status();
  if (!table.ok()) {
    return absl::Status(table.status().code(), absl::StrCat(path, ": ", table.status().message()));
  }
  return std::optional<hcall::TraceFinal>(*std::move(table));
}

// A name for the partition of a replay that others at the daemon will not have.
std::string PartitionName(const hcall::TraceHeader& header) {
  const std::string_view name = header.Get("name");
  std::string text = "replay-";
  for (const char c : name.substr(0, 40)) {
    const bool allowed = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
    text.push_back(allowed ? c : '_');
  }
  static int replays = 0;
  return absl::StrCat(text, "-", getpid(), "-", replays++);
}

}  // namespace

absl::StatusOr<ReplayReport> ReplayFile(const std::string& path, std::string_view target,
                                        const ReplayOptions& options) {
  ReplayInput input;
  input.trace_path = path;
  input.final_path = FinalPath(path);
  // First, so that a name mistyped is told as that and not as a missing final table.
  absl::StatusOr<std::unique_ptr<InputFile>> file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::optional<hcall::TraceFinal>> final_table = LoadFinal(input.final_path);
  if (!final_table.ok()) return final_table.status();
  if (!final_table->has_value() && options.final_required) {
    return absl::NotFoundError(
        absl::StrCat("there is no final table ", input.final_path, " beside ", path));
  }
  if (final_table->has_value()) input.final_table = &**final_table;

  absl::StatusOr<hcall::TraceReader> trace = hcall::TraceReader::Open((*file)->stream());
  if (!(*file)->status().ok()) return (*file)->status();
  if (!trace.ok()) {
    return absl::Status(trace.status().code(), absl::StrCat(path, ": ", trace.status().message()));
  }
  input.trace = &*trace;
  input.fraction = [&file] { return (*file)->fraction_read(); };

  absl::StatusOr<hcall::PartitionConfig> config = trace->header().ToPartitionConfig();
  if (!config.ok()) {
    return absl::Status(config.status().code(),
                        absl::StrCat(path, ": ", config.status().message()));
  }
  absl::StatusOr<std::unique_ptr<Machine>> machine =
      CreateMachine(target, PartitionName(trace->header()), *config);
  if (!machine.ok()) return machine.status();
  absl::StatusOr<ReplayReport> report = ReplayOn(machine->get(), input, options);
  // Damaged data looks like the end of the trace from inside.
  if (!(*file)->status().ok()) return (*file)->status();
  return report;
}

}  // namespace papr::client

#include "server/partition_file.h"

#include <fstream>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/limits.h"
#include "server/partition_name.h"

namespace papr::server {
namespace {

absl::Status BadFile(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--partition_file: ", what));
}

}  // namespace

absl::StatusOr<PartitionAtStart> ParsePartition(absl::string_view text, absl::string_view where) {
  auto spec = hcall::ParsePartitionSpec(std::string_view(text.data(), text.size()));
  if (!spec.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": \"", text, "\": ", spec.status().message()));
  }
  if (!IsPartitionName(spec->name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": \"", text, "\": name: ", kPartitionNameRule));
  }
  return PartitionAtStart{*std::move(spec), std::string(where)};
}

absl::Status ReadPartitionFile(const std::string& path, std::vector<PartitionAtStart>& partitions) {
  std::ifstream file(path, std::ios::binary);
  std::string content(kMaxPartitionFileBytes + 1, '\0');
  if (file) file.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!file.is_open() || file.bad()) return BadFile(absl::StrCat("cannot read ", path));
  content.resize(static_cast<size_t>(file.gcount()));
  if (content.size() > kMaxPartitionFileBytes) {
    return BadFile(absl::StrCat(path, " is larger than ", kMaxPartitionFileBytes, " bytes"));
  }
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    ++number;
    const absl::string_view text = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (text.empty()) continue;
    auto partition = ParsePartition(text, absl::StrCat(path, ":", number));
    if (!partition.ok()) return partition.status();
    partitions.push_back(*std::move(partition));
  }
  return absl::OkStatus();
}

}  // namespace papr::server

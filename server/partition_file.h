// Partitions to create at start, as text: --partition and the lines of --partition_file. For one
// thread.

#ifndef SERVER_PARTITION_FILE_H_
#define SERVER_PARTITION_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/options.h"

namespace papr::server {

// `where` it stands, for messages. INVALID_ARGUMENT, which says where: `text` is no partition.
absl::StatusOr<PartitionAtStart> ParsePartition(absl::string_view text, absl::string_view where);

// Appends the partitions of the file `path`, one a line; # begins a comment. INVALID_ARGUMENT: the
// file cannot be read or is larger than kMaxPartitionFileBytes, or a line is no partition.
absl::Status ReadPartitionFile(const std::string& path, std::vector<PartitionAtStart>& partitions);

}  // namespace papr::server

#endif  // SERVER_PARTITION_FILE_H_

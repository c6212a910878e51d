// What a partition may be called. Any thread may use this.

#ifndef SERVER_PARTITION_NAME_H_
#define SERVER_PARTITION_NAME_H_

#include "absl/strings/string_view.h"

namespace papr::server {

// What the metrics sum partitions as that have no label of their own; so no partition's name.
inline constexpr char kOtherPartitions[] = "other";

// 1 to 63 characters of a-z, A-Z, 0-9, '.', '_', '-', the first a letter or digit; not "other".
bool IsPartitionName(absl::string_view name);

// What IsPartitionName() asks for, for messages.
inline constexpr char kPartitionNameRule[] =
    "must be 1 to 63 characters of a-z, A-Z, 0-9, '.', '_', '-', the first a letter or digit, "
    "and not \"other\", which is reserved for metrics";

}  // namespace papr::server

#endif  // SERVER_PARTITION_NAME_H_

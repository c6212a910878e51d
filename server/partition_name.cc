#include "server/partition_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "server/limits.h"

namespace papr::server {

bool IsPartitionName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxPartitionNameLength) return false;
  if (name == kOtherPartitions) return false;
  if (!absl::ascii_isalnum(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
}

}  // namespace papr::server

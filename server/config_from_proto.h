// A partition's configuration as it comes over the wire, made into the hypervisor's own.

#ifndef SERVER_CONFIG_FROM_PROTO_H_
#define SERVER_CONFIG_FROM_PROTO_H_

#include "absl/status/statusor.h"
#include "hcall/partition_config.h"
#include "papr/mmu/v1/partition.pb.h"

namespace papr::server {

// The configuration with every default filled in; it has passed Validate(). INVALID_ARGUMENT, with
// the path of the field that is refused, from "config" down. Any thread may call this.
absl::StatusOr<hcall::PartitionConfig> ConfigFromProto(const mmu::v1::PartitionConfig& proto);

}  // namespace papr::server

#endif  // SERVER_CONFIG_FROM_PROTO_H_

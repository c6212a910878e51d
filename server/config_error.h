// Which field of papr.mmu.v1.PartitionConfig an error of the hypervisor's own check is about.

#ifndef SERVER_CONFIG_ERROR_H_
#define SERVER_CONFIG_ERROR_H_

#include "absl/status/status.h"

namespace papr::server {

// `status` of hcall::PartitionConfig::Validate() or hcall::Partition::Create(): an INVALID_ARGUMENT
// gets the field that its message opens with, as a path below "config"; others come back unchanged.
// Any thread may call this.
absl::Status NameConfigField(const absl::Status& status);

}  // namespace papr::server

#endif  // SERVER_CONFIG_ERROR_H_

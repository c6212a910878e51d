// PartitionConfig and its parts, to and from the messages of papr.mmu.v1. Pure functions.

#ifndef CLIENT_CONFIG_PROTO_H_
#define CLIENT_CONFIG_PROTO_H_

#include "absl/status/statusor.h"
#include "hcall/partition.h"
#include "mmu/page_size.h"
#include "mmu/table_check.h"
#include "papr/mmu/v1/partition.pb.h"

namespace papr::client {

// Every field filled in, so that no default of the daemon decides. What lives in this process only
// (guest memory, the budget) does not travel.
mmu::v1::PartitionConfig ToProto(const hcall::PartitionConfig& config);

// The page sizes of a partition as the daemon describes it. INVALID_ARGUMENT: they are no table.
absl::StatusOr<mmu::PageSizeTable> PageSizesFromProto(const mmu::v1::PartitionConfig& config);

hcall::DeviceTree FromProto(const mmu::v1::DeviceTree& tree);
hcall::HptStatistics FromProto(const mmu::v1::HptStatistics& statistics);
mmu::TableCheckReport FromProto(const mmu::v1::CheckHptResponse& response);

}  // namespace papr::client

#endif  // CLIENT_CONFIG_PROTO_H_

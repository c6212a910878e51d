// The RPCs of PartitionService on the guest's pages: from a request to hcall/guest_pages.h and
// back. They may take some tenths of a second: for worker threads.

#ifndef SERVER_GUEST_PAGE_CALLS_H_
#define SERVER_GUEST_PAGE_CALLS_H_

#include "absl/status/status.h"
#include "hcall/partition.h"
#include "papr/mmu/v1/partition.pb.h"

namespace papr::server {

absl::Status GetDirtyPages(hcall::Partition& partition,
                           const mmu::v1::GetDirtyPagesRequest& request,
                           mmu::v1::GetDirtyPagesResponse* response);
absl::Status ListMappings(hcall::Partition& partition, const mmu::v1::ListMappingsRequest& request,
                          mmu::v1::ListMappingsResponse* response);
absl::Status HarvestReferenceChange(hcall::Partition& partition,
                                    const mmu::v1::HarvestReferenceChangeRequest& request,
                                    mmu::v1::HarvestReferenceChangeResponse* response);
absl::Status RemoveMappings(hcall::Partition& partition,
                            const mmu::v1::RemoveMappingsRequest& request,
                            mmu::v1::RemoveMappingsResponse* response);

}  // namespace papr::server

#endif  // SERVER_GUEST_PAGE_CALLS_H_

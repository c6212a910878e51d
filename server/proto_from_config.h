// What the hypervisor knows of a partition, as it goes over the wire. Any thread may call these.

#ifndef SERVER_PROTO_FROM_CONFIG_H_
#define SERVER_PROTO_FROM_CONFIG_H_

#include "hcall/partition.h"
#include "hcall/partition_config.h"
#include "mmu/table_check.h"
#include "papr/mmu/v1/partition.pb.h"
#include "server/partition_registry.h"

namespace papr::server {

// With every default filled in; ConfigFromProto() makes the same configuration of it.
void ConfigToProto(const hcall::PartitionConfig& config, mmu::v1::PartitionConfig* proto);

void PartitionToProto(const ServedPartition& served, mmu::v1::Partition* proto);

// `with_digest`: kDigest also fills in the digest.
enum class DigestWanted : uint8_t { kNo, kYes };
void StatisticsToProto(const hcall::HptStatistics& statistics, DigestWanted digest,
                       mmu::v1::HptStatistics* proto);

void CheckToProto(const mmu::TableCheckReport& report, mmu::v1::CheckHptResponse* proto);

}  // namespace papr::server

#endif  // SERVER_PROTO_FROM_CONFIG_H_

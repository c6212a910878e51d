// The operator's side of a daemon: its partitions. A thin layer over PartitionService that speaks
// absl::Status; answers are the service's own messages. Errors: as Connection::ToStatus().
//
// For one thread; many may share the Connection.

#ifndef CLIENT_PARTITION_ADMIN_H_
#define CLIENT_PARTITION_ADMIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection.h"
#include "hcall/partition_config.h"
#include "papr/mmu/v1/partition.pb.h"

namespace papr::client {

class PartitionAdmin {
 public:
  explicit PartitionAdmin(std::shared_ptr<Connection> connection);
  ~PartitionAdmin();

  absl::StatusOr<mmu::v1::Partition> Create(const std::string& name,
                                            const hcall::PartitionConfig& config);
  absl::StatusOr<mmu::v1::Partition> Get(const std::string& name);
  // All partitions, by name; fetches page after page.
  absl::StatusOr<std::vector<mmu::v1::Partition>> List();
  // Machine reset; without an order, that of the partition's creation.
  absl::StatusOr<mmu::v1::Partition> Reset(const std::string& name, std::optional<int> order);
  absl::Status Delete(const std::string& name);
  absl::Status FinishResizePreparation(const std::string& name, int order, int64_t return_code);
  // With the digest.
  absl::StatusOr<mmu::v1::HptStatistics> GetStatistics(const std::string& name);
  // How many entries are valid. The daemon passes over the parts of a table that were never used,
  // so it costs no more than the entries there are, however large the table.
  absl::StatusOr<uint64_t> CountValid(const std::string& name);
  absl::StatusOr<mmu::v1::CheckHptResponse> Check(const std::string& name, int max_findings);

  // Of partitions with track_guest_pages. Addresses are guest real; the answers to one question are
  // asked for until they are complete.

  // The pages from `start` on that were changed, which are taken unless `keep`.
  absl::StatusOr<std::vector<mmu::v1::PageRun>> GetDirtyPages(const std::string& name,
                                                              uint64_t start, bool keep);
  absl::StatusOr<mmu::v1::ListMappingsResponse> ListMappings(const std::string& name, uint64_t page,
                                                             int max_mappings);
  // The pages of a range that were referenced or changed, which is forgotten unless `keep`.
  absl::StatusOr<std::vector<mmu::v1::ReferenceRun>> HarvestReferenceChange(const std::string& name,
                                                                            uint64_t base,
                                                                            uint64_t size,
                                                                            bool keep);
  // Removes what maps a range; how many entries.
  absl::StatusOr<uint64_t> RemoveMappings(const std::string& name, uint64_t base, uint64_t size);

 private:
  struct Rpc;

  const std::shared_ptr<Connection> connection_;
  const std::unique_ptr<Rpc> rpc_;
};

}  // namespace papr::client

#endif  // CLIENT_PARTITION_ADMIN_H_

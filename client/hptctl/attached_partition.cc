#include "client/hptctl/attached_partition.h"

#include <utility>

#include "client/config_proto.h"
#include "client/partition_admin.h"
#include "client/remote_hypervisor.h"

namespace papr::client::hptctl {

absl::StatusOr<AttachedPartition> Attach(const Context& context, const std::string& name) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return connection.status();
  absl::StatusOr<mmu::v1::Partition> partition = PartitionAdmin(*connection).Get(name);
  if (!partition.ok()) return partition.status();
  absl::StatusOr<mmu::PageSizeTable> page_sizes = PageSizesFromProto(partition->config());
  if (!page_sizes.ok()) return page_sizes.status();
  AttachedPartition attached;
  attached.name = name;
  attached.order = static_cast<int>(partition->order());
  attached.profile = partition->config().profile() == mmu::v1::PROFILE_QEMU_TCG
                         ? hcall::Profile::kQemuTcg
                         : hcall::Profile::kKvmHv;
  attached.page_sizes = *std::move(page_sizes);
  attached.connection = *connection;
  attached.hypervisor = std::make_unique<RemoteHypervisor>(*connection, name);
  return attached;
}

}  // namespace papr::client::hptctl

// A partition of the daemon that a command works on: its guest's view, and what is needed to read
// its entries.

#ifndef CLIENT_HPTCTL_ATTACHED_PARTITION_H_
#define CLIENT_HPTCTL_ATTACHED_PARTITION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/hptctl/context.h"
#include "client/hypervisor.h"
#include "hcall/partition_config.h"
#include "mmu/page_size.h"

namespace papr::client::hptctl {

struct AttachedPartition {
  std::string name;
  int order = 0;  // of its current table; 0 for radix
  hcall::Profile profile = hcall::Profile::kKvmHv;
  mmu::PageSizeTable page_sizes = mmu::PageSizeTable::Power();
  std::shared_ptr<Connection> connection;
  std::unique_ptr<Hypervisor> hypervisor;
};

// Looks the partition up at the daemon that --target names. NOT_FOUND; those of Connect().
absl::StatusOr<AttachedPartition> Attach(const Context& context, const std::string& name);

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_ATTACHED_PARTITION_H_

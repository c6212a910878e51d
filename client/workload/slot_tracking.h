// The slot-tracking experiment: a guest maps memory, touches every page and unmaps it, again and
// again, in three ways of reaching the HPTEs that must go (guest/pseries_ops.h), and on bare metal.
// What is counted (hcalls) is exact; what is timed is told with its spread.
//
// The variants take turns in one process, A B B A, on one partition and the same pages.

#ifndef CLIENT_WORKLOAD_SLOT_TRACKING_H_
#define CLIENT_WORKLOAD_SLOT_TRACKING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/guest/pseries_ops.h"
#include "client/machine.h"
#include "client/workload/paired_ratio.h"
#include "hcall/partition_config.h"

namespace papr::client {

enum class GuestPlatform : uint8_t { kPseries, kPowernv };

enum class Transport : uint8_t {
  kLocal,  // the hypervisor is in this process
  kUnary,  // every hcall is an RPC of its own
  kBatch,  // as kUnary, but the removals of one flush, which a guest may issue without waiting,
           // share an HcallBatch. H_ENTER and the H_READs of a search are waited for one by one.
};

std::string_view TransportName(Transport transport);    // "local", "unary", "batch"
std::string_view PlatformName(GuestPlatform platform);  // "pseries", "powernv"
std::string_view SlotModeName(guest::SlotMode mode);    // "slot", "find", "hash"

struct SlotTrackingOptions {
  int iterations = 20;
  uint64_t megabytes = 128;    // of the mapping
  int page_shift = mmu::k64K;  // log2 of bytes: 12 or 16
  std::vector<guest::SlotMode> modes = {guest::SlotMode::kSlot, guest::SlotMode::kFind,
                                        guest::SlotMode::kHash};  // not used on powernv
  GuestPlatform platform = GuestPlatform::kPseries;
  Transport transport = Transport::kLocal;
  int hpt_order = 26;         // log2 of the table's bytes
  uint64_t offset_pages = 0;  // of the mapping from a multiple of 16 MB
  // Also runs each variant with the page cleared at each touch, as a kernel does, in rows of their
  // own.
  bool clear_pages = false;
  uint64_t seed = 1;
  // Called after each round of all variants with the rounds done; may be empty.
  std::function<void(int rounds)> progress;
  // Asked every few touches, and on a daemon before every message; once it says true the experiment
  // ends with CANCELLED. May be empty.
  std::function<bool()> cancelled;

  // INVALID_ARGUMENT: what no partition can hold.
  absl::Status Validate() const;
};

// One variant.
struct SlotTrackingRow {
  std::string platform;
  std::string mode;  // "slot", "find", "hash"; "direct" on powernv
  std::string transport;
  uint64_t page_size = 0;  // bytes
  uint64_t pages = 0;      // of the mapping
  int iterations = 0;
  bool clear_pages = false;
  double seconds = 0;                      // of all iterations
  uint64_t round_trips = 0;                // 0 in this process
  std::map<std::string, uint64_t> hcalls;  // by name
  double hcalls_per_iteration = 0;
  double hcalls_per_page = 0;
  std::optional<double> reads_per_find;       // mode find
  std::optional<PairedRatio> ratio_to_first;  // time against the first row's, from pairs of turns
};

// The partition that the experiment runs on: enough RAM, the order asked for.
hcall::PartitionConfig SlotTrackingPartition(const SlotTrackingOptions& options);

// Runs it on `machine`, a fresh partition of SlotTrackingPartition(); null on powernv. Rows in the
// order of options.modes, those that clear pages last. FAILED_PRECONDITION: a mode that the
// partition does not offer.
absl::StatusOr<std::vector<SlotTrackingRow>> RunSlotTracking(const SlotTrackingOptions& options,
                                                             Machine* machine);

}  // namespace papr::client

#endif  // CLIENT_WORKLOAD_SLOT_TRACKING_H_

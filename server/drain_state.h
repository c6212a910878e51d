// Whether this daemon still takes calls.
//
// Threads: any.

#ifndef SERVER_DRAIN_STATE_H_
#define SERVER_DRAIN_STATE_H_

#include <atomic>

#include "absl/status/status.h"

namespace papr::server {

class DrainState {
 public:
  bool draining() const { return draining_.load(std::memory_order_relaxed); }
  // Calls that begin from now on are refused; those in progress go on. False if it was so already.
  bool Begin() { return !draining_.exchange(true); }

 private:
  std::atomic<bool> draining_{false};
};

// UNAVAILABLE: what a call is answered that begins while the daemon drains.
inline absl::Status Draining() {
  return absl::UnavailableError("the daemon is shutting down; nothing was executed");
}

}  // namespace papr::server

#endif  // SERVER_DRAIN_STATE_H_

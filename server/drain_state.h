// Whether this daemon still takes calls, and the calls that came too late.
//
// Threads: any.

#ifndef SERVER_DRAIN_STATE_H_
#define SERVER_DRAIN_STATE_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace papr::server {

// A stream, which would not end by itself.
class DrainListener {
 public:
  virtual ~DrainListener() = default;
  // The stream is to end. Called once, by Release() or Watch().
  virtual void OnDrain() = 0;
};

class DrainState {
 public:
  bool draining() const { return draining_.load(std::memory_order_relaxed); }
  // Calls that begin from now on are refused; those in progress go on. False if it was so already.
  bool Begin() { return !draining_.exchange(true); }

  // Refuses the RPC of `context`, which began while the daemon drains: UNAVAILABLE, nothing was
  // executed. The answer waits for Release(). For use on a gRPC thread.
  grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context);

  // Tells `listener`, if it still lives, when Release() comes, or at once if it has come.
  void Watch(std::weak_ptr<DrainListener> listener);

  // Answers what Refuse() holds back, and from now on at once; ends the streams.
  void Release();

 private:
  using Held = std::pair<grpc::CallbackServerContext*, grpc::ServerUnaryReactor*>;

  std::atomic<bool> draining_{false};
  std::mutex mutex_;
  bool released_ = false;                                // guarded by mutex_
  std::vector<Held> held_;                               // guarded by mutex_
  std::vector<std::weak_ptr<DrainListener>> listeners_;  // guarded by mutex_
};

}  // namespace papr::server

#endif  // SERVER_DRAIN_STATE_H_

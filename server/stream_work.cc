#include "server/stream_work.h"

#include <utility>

#include "server/errors.h"
#include "server/grpc_status.h"

namespace papr::server {
namespace {

absl::Status ShuttingDown() { return absl::UnavailableError("the daemon is shutting down"); }

}  // namespace

void StreamWork::Start(DrainState& drain) {
  const bool refused = drain.draining();
  if (refused) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = State::kWaiting;  // for OnDrain() only
  }
  drain.Watch(weak_from_this());
  if (!refused) AwaitMessage();
}

void StreamWork::AwaitMessage() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!draining_) {
      state_ = State::kWaiting;
      // With the lock held, so that the stream does not end before.
      reactor_.start_read();
      return;
    }
  }
  Finish(ShuttingDown());
}

void StreamWork::Do(std::function<void()> step) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (state_ == State::kEnding) return;
    state_ = State::kBusy;
  }
  if (!pool_.Submit([self = shared_from_this(), step = std::move(step)] { step(); })) {
    Finish(
        LimitError("max_queued_operations", pool_.max_queued(), "too many long operations wait"));
  }
}

void StreamWork::Finish(const absl::Status& status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = State::kEnding;
  }
  End(status);
}

void StreamWork::OnDrain() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    draining_ = true;
    if (state_ != State::kWaiting) return;
    state_ = State::kEnding;
  }
  End(ShuttingDown());
}

// With too much waiting for the workers, what the stream holds is freed here after all.
void StreamWork::End(const absl::Status& status) {
  const auto end = [self = shared_from_this(), status] {
    self->reactor_.release();
    self->reactor_.finish(ToGrpcStatus(self->context_, status));
  };
  if (WorkerPool::OnWorkerThread() || !pool_.Submit(end)) end();
}

}  // namespace papr::server

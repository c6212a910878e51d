#include "server/drain_state.h"

#include "absl/status/status.h"
#include "server/grpc_status.h"
#include "server/unary_work.h"

namespace papr::server {
namespace {

absl::Status Draining() {
  return absl::UnavailableError("the daemon is shutting down; nothing was executed");
}

}  // namespace

grpc::ServerUnaryReactor* DrainState::Refuse(grpc::CallbackServerContext* context) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!released_) return held_.emplace_back(context, context->DefaultReactor()).second;
  }
  return FinishNow(context, Draining());
}

void DrainState::Watch(std::weak_ptr<DrainListener> listener) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!released_) {
      std::erase_if(listeners_, [](const auto& other) { return other.expired(); });
      listeners_.push_back(std::move(listener));
      return;
    }
  }
  if (const auto alive = listener.lock()) alive->OnDrain();
}

void DrainState::Release() {
  std::vector<Held> held;
  std::vector<std::weak_ptr<DrainListener>> listeners;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    released_ = true;
    held.swap(held_);
    listeners.swap(listeners_);
  }
  for (const auto& listener : listeners) {
    if (const auto alive = listener.lock()) alive->OnDrain();
  }
  for (const auto& [context, reactor] : held) reactor->Finish(ToGrpcStatus(context, Draining()));
}

}  // namespace papr::server

// What the streams of this daemon have in common: their work runs on the threads of a pool, a step
// at a time; they end when the daemon drains; and what they hold is freed before they end.
//
// A stream waits for the client's next message, is busy with one (a step on a worker, then perhaps
// an answer on its way), or is ending. Only while it is busy does it start an operation, so that
// there are never two of a kind outstanding.
//
// Threads: any; gRPC's, the pool's, and the one that drains.

#ifndef SERVER_STREAM_WORK_H_
#define SERVER_STREAM_WORK_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "server/drain_state.h"
#include "server/worker_pool.h"

namespace papr::server {

class StreamWork : public DrainListener, public std::enable_shared_from_this<StreamWork> {
 public:
  // What only the stream's reactor can do. Not called any more once finish() has been.
  struct Reactor {
    std::function<void()> start_read;                 // StartRead()
    std::function<void(const grpc::Status&)> finish;  // Finish()
    std::function<void()> release;                    // frees what the stream holds; may wait
  };
  // `pool` outlives the stream: it must not be freed by a stream that ends on one of its threads.
  StreamWork(grpc::CallbackServerContext* context, WorkerPool& pool, Reactor reactor)
      : context_(context), pool_(pool), reactor_(std::move(reactor)) {}

  // Waits for the first message. If the daemon drains already the stream is refused: UNAVAILABLE,
  // when other calls are too.
  void Start(DrainState& drain);
  // Waits for the next message. If the daemon drains the stream ends instead. Requires that it is
  // busy.
  void AwaitMessage();
  // A message has come, or will not come any more: `step` runs on a worker. It must end in
  // AwaitMessage(), Finish(), or an answer whose end does. Nothing is done if the stream is ending.
  void Do(std::function<void()> step);
  // Ends the stream with `status`. Requires that it is busy.
  void Finish(const absl::Status& status);

  bool cancelled() const { return context_->IsCancelled(); }

  void OnDrain() override;

 private:
  enum class State { kBusy, kWaiting, kEnding };

  void End(const absl::Status& status);

  grpc::CallbackServerContext* const context_;
  WorkerPool& pool_;
  const Reactor reactor_;
  std::mutex mutex_;
  State state_ = State::kBusy;  // guarded by mutex_
  bool draining_ = false;       // guarded by mutex_
};

}  // namespace papr::server

#endif  // SERVER_STREAM_WORK_H_

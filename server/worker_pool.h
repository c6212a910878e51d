// A few threads for what may take long, such as scans of whole tables, or resets and resizes.
// gRPC's own threads hand such work over and finish the RPC from here, so that they never block.
//
// Threads: Submit() from any thread. The destructor runs what was submitted and joins.

#ifndef SERVER_WORKER_POOL_H_
#define SERVER_WORKER_POOL_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace papr::server {

class WorkerPool {
 public:
  WorkerPool(int threads, size_t max_queued);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  size_t max_queued() const { return max_queued_; }

  // Runs `job` soon on one of the threads; false, and nothing done, if too many wait already.
  bool Submit(std::function<void()> job);

  // True on the threads of any pool, where what takes long may be done at once.
  static bool OnWorkerThread();

 private:
  void Work();

  const size_t max_queued_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace papr::server

#endif  // SERVER_WORKER_POOL_H_

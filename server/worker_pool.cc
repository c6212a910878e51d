#include "server/worker_pool.h"

#include <utility>

namespace papr::server {
namespace {

thread_local bool on_worker_thread = false;

}  // namespace

bool WorkerPool::OnWorkerThread() { return on_worker_thread; }

WorkerPool::WorkerPool(int threads, size_t max_queued) : max_queued_(max_queued) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::Submit(std::function<void()> job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::Work() {
  on_worker_thread = true;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // What it holds may be a table, and long to give back.
    lock.lock();
  }
}

}  // namespace papr::server

#include "hcall/quiescence.h"

#include <thread>

namespace papr::hcall {
namespace {

// A number of this thread's own: neighbours in time get neighbouring lanes.
int ThreadNumber() {
  static std::atomic<int> next{0};
  thread_local const int number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

// Either Enter() sees the gate closed, or Close() sees the counter: both use sequentially
// consistent operations on the two.
std::atomic<uint32_t>* Quiescence::Enter() {
  std::atomic<uint32_t>& inside = lanes_[ThreadNumber() % kLanes].inside;
  for (;;) {
    inside.fetch_add(1);
    if (!closed_.load()) return &inside;
    inside.fetch_sub(1);
    const std::lock_guard<std::mutex> wait(mutex_);  // until the Exclusive guard is gone
  }
}

void Quiescence::Close() {
  closed_.store(true);
  for (Lane& lane : lanes_) {
    while (lane.inside.load() != 0) std::this_thread::yield();
  }
}

}  // namespace papr::hcall

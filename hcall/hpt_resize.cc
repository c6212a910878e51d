#include "hcall/hpt_resize.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

namespace papr::hcall {

// One table on its way. `ready_` is the last thing that its maker writes.
class HptResize::Preparation {
 public:
  Preparation(int order, ResizePreparation how, std::shared_ptr<mmu::MemoryBudget> budget)
      : order_(order), how_(how), budget_(std::move(budget)) {
    if (how_ != ResizePreparation::kBackground) return;
    try {
      thread_ = std::jthread([this] { Make(); });
    } catch (const std::system_error&) {  // the host is out of threads
      Fail(kHNoMem);
    }
  }

  int order() const { return order_; }
  ResizePreparation how() const { return how_; }
  bool ready() const { return ready_.load(std::memory_order_acquire); }
  int64_t return_code() const { return return_code_; }

  void Make() {
    auto table = mmu::HashPageTable::Create(order_, /*empty_v=*/0, std::move(budget_));
    if (!table.ok()) return Fail(kHNoMem);
    table_ = *std::move(table);
    ready_.store(true, std::memory_order_release);
  }
  void Fail(int64_t return_code) {
    return_code_ = return_code;
    ready_.store(true, std::memory_order_release);
  }
  // Requires ready().
  std::unique_ptr<mmu::HashPageTable> Take() { return std::move(table_); }

 private:
  const int order_;
  const ResizePreparation how_;
  std::shared_ptr<mmu::MemoryBudget> budget_;
  int64_t return_code_ = kHSuccess;
  std::unique_ptr<mmu::HashPageTable> table_;
  std::atomic<bool> ready_{false};
  std::jthread thread_;  // last: joined before anything it uses is destroyed
};

HptResize::HptResize() = default;
HptResize::~HptResize() = default;

HptResize::Pending HptResize::pending() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (preparation_ == nullptr) return {};
  if (!preparation_->ready()) return {State::kPreparing, preparation_->order(), kHSuccess};
  return {State::kReady, preparation_->order(), preparation_->return_code()};
}

void HptResize::Discard() {
  std::shared_ptr<Preparation> old;
  const std::lock_guard<std::mutex> lock(mutex_);
  old.swap(preparation_);
}

void HptResize::Start(int order, ResizePreparation how, std::shared_ptr<mmu::MemoryBudget> budget) {
  Discard();  // first, so that its bytes are free for the new one
  auto preparation = std::make_shared<Preparation>(order, how, std::move(budget));
  const std::lock_guard<std::mutex> lock(mutex_);
  preparation_ = std::move(preparation);
}

bool HptResize::Finish(int order, int64_t return_code) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (preparation_ == nullptr || preparation_->order() != order || preparation_->ready() ||
      preparation_->how() != ResizePreparation::kManual) {
    return false;
  }
  return_code == kHSuccess ? preparation_->Make() : preparation_->Fail(return_code);
  return true;
}

std::unique_ptr<mmu::HashPageTable> HptResize::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (preparation_ == nullptr || !preparation_->ready()) return nullptr;
  return std::exchange(preparation_, nullptr)->Take();
}

}  // namespace papr::hcall

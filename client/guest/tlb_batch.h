// The per-CPU batch in which Linux collects the hashed pages of a lazy MMU section (one page
// table's worth of PTEs under one lock), so that their HPTEs go together.

#ifndef CLIENT_GUEST_TLB_BATCH_H_
#define CLIENT_GUEST_TLB_BATCH_H_

#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "client/guest/hash_ops.h"

namespace papr::client::guest {

class TlbBatch {
 public:
  static constexpr size_t kPages = 192;

  // `ops` must outlive this.
  explicit TlbBatch(HashOps* ops) : ops_(ops) {}

  // Between these, pages are collected. Leaving removes what is left.
  void EnterLazyMode() { active_ = true; }
  absl::Status LeaveLazyMode() {
    active_ = false;
    return Flush();
  }

  // `page` is to lose its HPTE: at once outside a lazy section, else with the others of the batch,
  // which goes when it is full.
  absl::Status Queue(const HashedPage& page) {
    if (!active_) return ops_->Invalidate(page);
    pages_[count_++] = page;
    return count_ == kPages ? Flush() : absl::OkStatus();
  }

 private:
  absl::Status Flush() {
    const size_t count = count_;
    count_ = 0;
    if (count == 0) return absl::OkStatus();
    if (count == 1) return ops_->Invalidate(pages_[0]);
    return ops_->FlushRange({pages_.data(), count});
  }

  HashOps* const ops_;
  bool active_ = false;
  size_t count_ = 0;
  std::array<HashedPage, kPages> pages_;
};

}  // namespace papr::client::guest

#endif  // CLIENT_GUEST_TLB_BATCH_H_

// How many hcalls, or updates, the daemon takes in one request: learnt from its first refusal of a
// longer one, which names the limit in the trailing metadata `papr-error-bin`.
//
// A refused request was refused whole, before anything of it ran. So to send it again in pieces
// sends nothing twice. For one thread.

#ifndef CLIENT_BATCH_LIMIT_H_
#define CLIENT_BATCH_LIMIT_H_

#include <algorithm>
#include <cstddef>
#include <limits>

namespace grpc {
class ClientContext;
class Status;
}  // namespace grpc

namespace papr::client {

class BatchLimit {
 public:
  // How many of `count` the next request may hold; at least one unless `count` is 0.
  size_t Piece(size_t count) const { return std::min(count, limit_); }

  // Looks at a finished call whose request held `sent`. If the daemon refused it for its length,
  // Piece(sent) is less from now on: send it again in pieces.
  void Learn(const grpc::ClientContext& context, const grpc::Status& status, size_t sent);

 private:
  size_t limit_ = std::numeric_limits<size_t>::max();
};

}  // namespace papr::client

#endif  // CLIENT_BATCH_LIMIT_H_

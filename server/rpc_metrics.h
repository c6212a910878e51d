// The gRPC ecosystem's own metrics, grpc_server_*, by service and method, for every service on the
// port. An interceptor sees each call; a call costs it two clock reads and a few relaxed additions.
//
// Threads: any.

#ifndef SERVER_RPC_METRICS_H_
#define SERVER_RPC_METRICS_H_

#include <grpcpp/support/server_interceptor.h>
#include <prometheus/collectable.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "server/sharded_cells.h"

namespace papr::server {

class RpcMetrics : public prometheus::Collectable {
 public:
  RpcMetrics();

  // An interceptor factory for ServerBuilder that counts in `metrics`.
  static std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> Interceptor(
      std::shared_ptr<RpcMetrics> metrics);

  std::vector<prometheus::MetricFamily> Collect() const override;

  // RPCs of this daemon's own services so far; those in progress are the difference.
  struct Load {
    uint64_t started = 0;
    uint64_t ended = 0;
    bool operator==(const Load&) const = default;
  };
  Load OwnLoad() const;

 private:
  class CountingInterceptor;
  class Factory;

  // One RPC method: its labels, and whether it shows before its first call.
  struct Method {
    std::string service;
    std::string name;
    std::string type;
    bool always_shown = false;
    bool own = false;  // of a service of this daemon, not one that gRPC brings along
  };

  void AddMethod(absl::string_view service, absl::string_view name, absl::string_view type,
                 bool always_shown);
  void AddService(const char* full_name, bool always_shown);
  // Index in methods_ of "/service/method"; that of an unknown method if there is none.
  size_t IndexOf(absl::string_view path) const;

  std::vector<Method> methods_;  // the last one stands for unknown methods
  absl::flat_hash_map<std::string, size_t> by_path_;
  std::unique_ptr<ShardedCells> cells_;
};

}  // namespace papr::server

#endif  // SERVER_RPC_METRICS_H_

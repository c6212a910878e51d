#include "server/server.h"

#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/drain.h"
#include "server/drain_state.h"
#include "server/hcall_metrics.h"
#include "server/hcall_service.h"
#include "server/hpt_metrics.h"
#include "server/metrics_endpoint.h"
#include "server/mmu_service.h"
#include "server/partition_registry.h"
#include "server/partition_service.h"
#include "server/process_metrics.h"
#include "server/rpc_metrics.h"
#include "server/undecodable_requests.h"
#include "server/unix_socket.h"
#include "server/worker_pool.h"

namespace papr::server {
namespace {

constexpr const char* kHealthNames[] = {"papr.mmu.v1.HcallService", "papr.mmu.v1.MmuService",
                                        "papr.mmu.v1.PartitionService"};

// gRPC keeps these plug-ins for the process; they apply to servers built later.
void InstallPlugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::channelz::experimental::InitChannelzService();
  });
}

int Milliseconds(absl::Duration duration) {
  const int64_t most = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(absl::ToInt64Milliseconds(duration), most));
}

class GrpcServer final : public Server {
 public:
  explicit GrpcServer(const ServerOptions& options)
      : options_(options),
        workers_(std::make_shared<WorkerPool>(
            kWorkerThreads, static_cast<size_t>(options.limits.max_queued_operations))),
        scanners_(std::make_shared<WorkerPool>(
            kScanThreads, static_cast<size_t>(options.limits.max_queued_operations))),
        hcall_metrics_(std::make_shared<HcallMetrics>(options.limits.metrics_max_partitions)),
        rpc_metrics_(std::make_shared<RpcMetrics>()),
        registry_(std::make_shared<PartitionRegistry>(options.limits, hcall_metrics_, workers_)),
        hcall_service_(registry_, hcall_metrics_, workers_, drain_,
                       options.limits.max_batch_hcalls),
        mmu_service_(registry_, workers_, drain_, options.limits.max_batch_hcalls),
        partition_service_(registry_, workers_, scanners_, drain_) {}
  ~GrpcServer() override { Drain(absl::ZeroDuration()); }

  absl::Status Start();

  std::vector<std::string> grpc_addresses() const override { return grpc_addresses_; }
  std::string unix_socket() const override { return options_.unix_socket; }
  std::string metrics_url() const override { return metrics_ != nullptr ? metrics_->url() : ""; }
  void Drain(absl::Duration grace) override;

 private:
  absl::Status CheckAddresses() const;
  absl::Status CreatePartitions();
  absl::Status StartMetrics();
  absl::Status StartGrpc();
  void Configure(grpc::ServerBuilder& builder);

  const ServerOptions options_;
  const std::shared_ptr<DrainState> drain_ = std::make_shared<DrainState>();
  const std::shared_ptr<WorkerPool> workers_;
  const std::shared_ptr<WorkerPool> scanners_;
  const std::shared_ptr<HcallMetrics> hcall_metrics_;
  const std::shared_ptr<RpcMetrics> rpc_metrics_;
  const std::shared_ptr<PartitionRegistry> registry_;
  HcallServiceImpl hcall_service_;
  MmuServiceImpl mmu_service_;
  PartitionServiceImpl partition_service_;
  std::unique_ptr<grpc::Server> grpc_;
  std::vector<std::string> grpc_addresses_;
  std::unique_ptr<MetricsEndpoint> metrics_;
};

absl::Status GrpcServer::CheckAddresses() const {
  if (options_.listen.empty() && options_.unix_socket.empty()) {
    return absl::FailedPreconditionError("both --listen and --unix_socket are empty");
  }
  for (const ListenAddress& address : options_.listen) {
    if (absl::Status s = CheckExposure(address, "listen", options_.exposure); !s.ok()) return s;
  }
  for (const ListenAddress& address : options_.metrics_listen) {
    absl::Status s = CheckExposure(address, "metrics_listen", options_.exposure);
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status GrpcServer::CreatePartitions() {
  for (const auto& [spec, where] : options_.partitions) {
    const auto created = registry_->Create(spec.name, spec.config);
    if (!created.ok()) {
      return absl::Status(created.status().code(), absl::StrCat(where, ": name=", spec.name, ": ",
                                                                created.status().message()));
    }
  }
  return absl::OkStatus();
}

absl::Status GrpcServer::StartMetrics() {
  if (options_.metrics_listen.empty()) return absl::OkStatus();
  auto endpoint = MetricsEndpoint::Start(options_.metrics_listen.front(),
                                         {hcall_metrics_, std::make_shared<HptMetrics>(registry_),
                                          rpc_metrics_, std::make_shared<ProcessMetrics>()});
  if (!endpoint.ok()) return endpoint.status();
  metrics_ = *std::move(endpoint);
  return absl::OkStatus();
}

void GrpcServer::Configure(grpc::ServerBuilder& builder) {
  builder.RegisterService(&hcall_service_);
  builder.RegisterService(&mmu_service_);
  builder.RegisterService(&partition_service_);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options_.limits.max_message_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(options_.limits.max_concurrent_rpcs));
  // Without this a second daemon on the same port would silently take half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(options_.idle_timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options_.keepalive_interval));
  // Reflection and channelz are synchronous services: one thread for them, two when busy.
  using Option = grpc::ServerBuilder::SyncServerOption;
  builder.SetSyncServerOption(Option::NUM_CQS, 1);
  builder.SetSyncServerOption(Option::MIN_POLLERS, 1);
  builder.SetSyncServerOption(Option::MAX_POLLERS, 2);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(UndecodableRequestInterceptor());
  interceptors.push_back(RpcMetrics::Interceptor(rpc_metrics_));
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
}

absl::Status GrpcServer::StartGrpc() {
  if (!options_.unix_socket.empty()) {
    if (absl::Status s = ClaimUnixSocket(options_.unix_socket); !s.ok()) return s;
  }
  grpc::ServerBuilder builder;
  Configure(builder);
  std::vector<int> ports(options_.listen.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    builder.AddListeningPort(options_.listen[i].ToString(), grpc::InsecureServerCredentials(),
                             &ports[i]);
  }
  int unix_port = 0;
  if (!options_.unix_socket.empty()) {
    builder.AddListeningPort(absl::StrCat("unix:", options_.unix_socket),
                             grpc::InsecureServerCredentials(), &unix_port);
  }
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr) {
    // gRPC stops at the first address that fails and does not say why.
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i] != 0) continue;
      const std::string why = WhyNoListening(options_.listen[i]);
      return absl::UnavailableError(absl::StrCat("cannot listen on ", options_.listen[i].ToString(),
                                                 ": ",
                                                 why.empty() ? "gRPC failed to bind it" : why));
    }
    return absl::UnavailableError(
        absl::StrCat("cannot listen on unix:", options_.unix_socket, ": gRPC failed to bind it"));
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    ListenAddress address = options_.listen[i];
    address.port = static_cast<uint16_t>(ports[i]);
    grpc_addresses_.push_back(address.ToString());
  }
  for (const char* name : kHealthNames) {
    grpc_->GetHealthCheckService()->SetServingStatus(name, true);
  }
  return absl::OkStatus();
}

absl::Status GrpcServer::Start() {
  if (absl::Status s = CheckAddresses(); !s.ok()) return s;
  if (absl::Status s = CreatePartitions(); !s.ok()) return s;
  if (absl::Status s = StartMetrics(); !s.ok()) return s;
  return StartGrpc();
}

void GrpcServer::Drain(absl::Duration grace) {
  if (!drain_->Begin() || grpc_ == nullptr) return;
  grpc_->GetHealthCheckService()->SetServingStatus(false);
  DrainGrpc(*grpc_, *drain_, *rpc_metrics_, grace);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options) {
  InstallPlugins();
  auto server = std::make_unique<GrpcServer>(options);
  if (absl::Status s = server->Start(); !s.ok()) return s;
  return server;
}

}  // namespace papr::server

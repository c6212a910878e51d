#include "server/rpc_metrics.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/prometheus_util.h"

namespace papr::server {
namespace {

using Clock = std::chrono::steady_clock;
using grpc::experimental::InterceptionHookPoints;

// Names as the ecosystem's dashboards expect them (those of gRPC for Go).
constexpr std::array<const char*, 17> kCodeNames = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

constexpr std::array<double, 15> kBoundsSeconds = {0.00001, 0.000025, 0.00005, 0.0001, 0.00025,
                                                   0.0005,  0.001,    0.0025,  0.005,  0.01,
                                                   0.025,   0.1,      0.5,     2.5,    10};
constexpr size_t kBuckets = kBoundsSeconds.size() + 1;

// Cells of one method.
constexpr size_t kStarted = 0;
constexpr size_t kReceived = 1;
constexpr size_t kSent = 2;
constexpr size_t kHandled = 3;
constexpr size_t kBucket = kHandled + kCodeNames.size();
constexpr size_t kNanoseconds = kBucket + kBuckets;
constexpr size_t kEnded = kNanoseconds + 1;
constexpr size_t kCellsPerMethod = kEnded + 1;

const char* TypeName(bool client_streams, bool server_streams) {
  if (client_streams) return server_streams ? "bidi_stream" : "client_stream";
  return server_streams ? "server_stream" : "unary";
}

}  // namespace

// Lives as long as its call.
class RpcMetrics::CountingInterceptor : public grpc::experimental::Interceptor {
 public:
  CountingInterceptor(RpcMetrics* metrics, size_t method)
      : cells_(metrics->cells_.get()), first_(method * kCellsPerMethod), start_(Clock::now()) {
    cells_->Add(first_ + kStarted);
  }
  ~CountingInterceptor() override {
    // A call that went away before it had a status.
    if (!handled_) Handled(grpc::StatusCode::CANCELLED);
    cells_->Add(first_ + kEnded);
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) &&
        batch->GetRecvMessage() != nullptr) {
      cells_->Add(first_ + kReceived);
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      cells_->Add(first_ + kSent);
    }
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      Handled(batch->GetSendStatus().error_code());
    }
    batch->Proceed();
  }

 private:
  void Handled(grpc::StatusCode code) {
    if (std::exchange(handled_, true)) return;
    const auto index = static_cast<size_t>(code);
    const auto unknown = static_cast<size_t>(grpc::StatusCode::UNKNOWN);
    const auto elapsed = std::chrono::nanoseconds(Clock::now() - start_).count();
    const double seconds = static_cast<double>(elapsed) / 1e9;
    const auto bucket = static_cast<size_t>(
        std::lower_bound(kBoundsSeconds.begin(), kBoundsSeconds.end(), seconds) -
        kBoundsSeconds.begin());
    cells_->Add(first_ + kHandled + (index < kCodeNames.size() ? index : unknown));
    cells_->Add(first_ + kBucket + bucket);
    cells_->Add(first_ + kNanoseconds, static_cast<uint64_t>(elapsed));
  }

  ShardedCells* const cells_;
  const size_t first_;
  const Clock::time_point start_;
  bool handled_ = false;
};

class RpcMetrics::Factory : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(std::shared_ptr<RpcMetrics> metrics) : metrics_(std::move(metrics)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new CountingInterceptor(metrics_.get(), metrics_->IndexOf(info->method()));
  }

 private:
  const std::shared_ptr<RpcMetrics> metrics_;
};

RpcMetrics::RpcMetrics() {
  AddService("papr.mmu.v1.HcallService", true);
  AddService("papr.mmu.v1.MmuService", true);
  AddService("papr.mmu.v1.PartitionService", true);
  AddService("grpc.channelz.v1.Channelz", false);
  AddService("grpc.reflection.v1alpha.ServerReflection", false);
  // gRPC's own health service carries no descriptor.
  AddMethod("grpc.health.v1.Health", "Check", "unary", true);
  AddMethod("grpc.health.v1.Health", "Watch", "server_stream", false);
  AddMethod("unknown", "unknown", "unary", false);
  cells_ = std::make_unique<ShardedCells>(methods_.size() * kCellsPerMethod);
}

void RpcMetrics::AddMethod(absl::string_view service, absl::string_view name,
                           absl::string_view type, bool always_shown) {
  by_path_.emplace(absl::StrCat("/", service, "/", name), methods_.size());
  methods_.push_back({std::string(service), std::string(name), std::string(type), always_shown,
                      absl::StartsWith(service, "papr.")});
}

void RpcMetrics::AddService(const char* full_name, bool always_shown) {
  const auto* service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(full_name);
  if (service == nullptr) return;
  for (int i = 0; i < service->method_count(); ++i) {
    const auto* method = service->method(i);
    AddMethod(full_name, method->name(),
              TypeName(method->client_streaming(), method->server_streaming()), always_shown);
  }
}

size_t RpcMetrics::IndexOf(absl::string_view path) const {
  const auto found = by_path_.find(path);
  return found != by_path_.end() ? found->second : methods_.size() - 1;
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> RpcMetrics::Interceptor(
    std::shared_ptr<RpcMetrics> metrics) {
  return std::make_unique<Factory>(std::move(metrics));
}

RpcMetrics::Load RpcMetrics::OwnLoad() const {
  const auto count = [this](size_t cell) {
    std::vector<uint64_t> sums(cells_->size());
    cells_->AddTo(sums);
    uint64_t calls = 0;
    for (size_t i = 0; i < methods_.size(); ++i) {
      if (methods_[i].own) calls += sums[i * kCellsPerMethod + cell];
    }
    return calls;
  };
  // First what has ended: so, if both are equal, there was a moment between with none in progress.
  Load load;
  load.ended = count(kEnded);
  load.started = count(kStarted);
  return load;
}

std::vector<prometheus::MetricFamily> RpcMetrics::Collect() const {
  auto started = CounterFamily("grpc_server_started_total", "RPCs started on the server.");
  auto handled =
      CounterFamily("grpc_server_handled_total", "RPCs completed on the server, by status code.");
  auto received = CounterFamily("grpc_server_msg_received_total", "Messages received in RPCs.");
  auto sent = CounterFamily("grpc_server_msg_sent_total", "Messages sent in RPCs.");
  auto seconds = HistogramFamily("grpc_server_handling_seconds",
                                 "Time from the start of an RPC to its status.");
  std::vector<uint64_t> sums(cells_->size());
  cells_->AddTo(sums);
  for (size_t i = 0; i < methods_.size(); ++i) {
    const Method& method = methods_[i];
    const std::span<const uint64_t> cells(&sums[i * kCellsPerMethod], kCellsPerMethod);
    if (cells[kStarted] == 0 && !method.always_shown) continue;
    const Labels labels = {
        {"grpc_type", method.type}, {"grpc_service", method.service}, {"grpc_method", method.name}};
    AddCounter(started, labels, static_cast<double>(cells[kStarted]));
    AddCounter(received, labels, static_cast<double>(cells[kReceived]));
    AddCounter(sent, labels, static_cast<double>(cells[kSent]));
    for (size_t code = 0; code < kCodeNames.size(); ++code) {
      if (cells[kHandled + code] == 0 && code != 0) continue;
      Labels with_code = labels;
      with_code.push_back({"grpc_code", kCodeNames[code]});
      AddCounter(handled, std::move(with_code), static_cast<double>(cells[kHandled + code]));
    }
    AddHistogram(seconds, labels, kBoundsSeconds, cells.subspan(kBucket, kBuckets),
                 static_cast<double>(cells[kNanoseconds]) / 1e9);
  }
  std::vector<prometheus::MetricFamily> out;
  for (auto* family : {&started, &handled, &received, &sent, &seconds}) {
    out.push_back(std::move(*family));
  }
  return out;
}

}  // namespace papr::server

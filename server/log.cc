#include "server/log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace papr::server {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::string Quoted(const std::string& value) {
  const bool plain = !value.empty() && value.find_first_of(" \"=\\\n\r\t") == std::string::npos;
  return plain ? value : absl::StrCat("\"", absl::Utf8SafeCEscape(value), "\"");
}

void LogOfGrpc(gpr_log_func_args* args) {
  const LogLevel level = args->severity == GPR_LOG_SEVERITY_ERROR  ? LogLevel::kError
                         : args->severity == GPR_LOG_SEVERITY_INFO ? LogLevel::kInfo
                                                                   : LogLevel::kDebug;
  Log(level, "grpc", {{"message", args->message}});
}

// A client's bad bytes give a line each, so of these at most one a second is logged.
void LogOfProtobuf(google::protobuf::LogLevel severity, const char*, int,
                   const std::string& message) {
  static std::atomic<int64_t> last_second{-1};
  static std::atomic<uint64_t> left_out{0};
  const int64_t second = absl::ToUnixSeconds(absl::Now());
  if (last_second.exchange(second, std::memory_order_relaxed) == second) {
    left_out.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const LogLevel level = severity == google::protobuf::LOGLEVEL_INFO      ? LogLevel::kDebug
                         : severity == google::protobuf::LOGLEVEL_WARNING ? LogLevel::kWarning
                                                                          : LogLevel::kError;
  Log(level, "protobuf", {{"message", message}, {"left_out", absl::StrCat(left_out.exchange(0))}});
}

}  // namespace

void StartLogging(LogLevel least) {
  auto logger =
      std::make_shared<spdlog::logger>("hptd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      "ts=%Y-%m-%dT%H:%M:%S.%eZ level=%l %v", spdlog::pattern_time_type::utc));
  logger->set_level(ToSpdlog(least));
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(LogOfGrpc);
  google::protobuf::SetLogHandler(LogOfProtobuf);
}

void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields) {
  spdlog::logger* logger = spdlog::default_logger_raw();
  if (!logger->should_log(ToSpdlog(level))) return;
  std::string line = absl::StrCat("event=", event);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=", Quoted(field.value));
  }
  logger->log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace papr::server

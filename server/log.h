// Structured log lines on standard error: ts=... level=... event=... key=value ..., one a line.
//
// Threads: any. Not for the way of an hcall, which is counted and not logged.

#ifndef SERVER_LOG_H_
#define SERVER_LOG_H_

#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"

namespace papr::server {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };

struct LogField {
  absl::string_view key;
  std::string value;
};

// Logs what is at least of this level, and sends gRPC's and protobuf's own messages the same
// way. At start, once.
void StartLogging(LogLevel least);

// `event` is a word or two joined by '_'; values are quoted where they need it.
void Log(LogLevel level, absl::string_view event, std::initializer_list<LogField> fields = {});

}  // namespace papr::server

#endif  // SERVER_LOG_H_

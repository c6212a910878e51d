// QEMU's control protocol, QMP, on the standard streams of a child process. For one thread.

#ifndef TESTS_CONFORMANCE_QEMU_QMP_CLIENT_H_
#define TESTS_CONFORMANCE_QEMU_QMP_CLIENT_H_

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/conformance/child_process.h"

namespace papr::conformance {

class QmpClient {
 public:
  // `process`, started with "-qmp stdio", must outlive the client. It is given `patience` for every
  // answer.
  QmpClient(ChildProcess* process, std::chrono::milliseconds patience)
      : process_(process), patience_(patience) {}

  // The functions below: ABORTED if QEMU ends, DEADLINE_EXCEEDED if it does not answer, INTERNAL if
  // it refuses.

  // Reads the greeting and ends the negotiation. Before anything else.
  absl::Status Connect();
  // Runs a command that has no arguments.
  absl::Status Execute(std::string_view command);
  // Runs it and waits until `event` has come.
  absl::Status ExecuteAndAwait(std::string_view command, std::string_view event);

 private:
  // Reads messages until the answer and, unless it is empty, `event` have come, in any order.
  absl::Status AwaitAnswer(std::string_view command, std::string_view event);

  ChildProcess* const process_;
  const std::chrono::milliseconds patience_;
};

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_QMP_CLIENT_H_

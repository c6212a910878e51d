// Another implementation, behind a program of its own: an adapter, which runs the steps of a case
// and says what came. tests/conformance/README.md has the protocol.

#ifndef CLIENT_CONFORMANCE_ADAPTER_MACHINE_H_
#define CLIENT_CONFORMANCE_ADAPTER_MACHINE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/conformance/child_process.h"
#include "client/conformance/column.h"
#include "client/machine.h"

namespace papr::conformance {

// A running adapter. It has one partition at a time. For one thread.
class Adapter {
 public:
  // Starts `command` by the shell and greets it. INVALID_ARGUMENT: it does not speak the protocol;
  // UNAVAILABLE, DEADLINE_EXCEEDED: it ended, or said nothing.
  static absl::StatusOr<std::unique_ptr<Adapter>> Start(const std::string& command);

  // Ends the adapter's input, and kills it if it has not left after two seconds.
  ~Adapter();

  Column column() const { return column_; }          // whose answers it expects to give
  const std::string& name() const { return name_; }  // of the implementation, with its version

  // A fresh partition, as `spec` says, which replaces the one before; the Adapter must outlive it.
  // UNIMPLEMENTED: the implementation has no such partition. Check() and GetDeviceTree() of the
  // machine are UNIMPLEMENTED; an ABORTED of any call means that the implementation crashed.
  absl::StatusOr<std::unique_ptr<client::Machine>> CreateMachine(const std::string& spec);

  // Sends a request, and gives what follows "ok" in the answer. Errors as CreateMachine()'s, and
  // INTERNAL: an answer that is no part of the protocol, or "error".
  absl::StatusOr<std::string> Ask(const std::string& request);

 private:
  Adapter(std::string command, std::unique_ptr<ChildProcess> process)
      : command_(std::move(command)), process_(std::move(process)) {}
  absl::Status Greet();

  const std::string command_;
  std::unique_ptr<ChildProcess> process_;
  Column column_ = Column::kPapr;
  std::string name_;
};

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_ADAPTER_MACHINE_H_

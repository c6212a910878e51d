// Another implementation, behind a program of its own: an adapter, which runs the steps of a case
// and says what came. tests/conformance/README.md has the protocol.

#ifndef CLIENT_CONFORMANCE_ADAPTER_MACHINE_H_
#define CLIENT_CONFORMANCE_ADAPTER_MACHINE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/conformance/child_process.h"
#include "client/conformance/column.h"
#include "client/machine.h"

namespace papr::conformance {

// A running adapter. It has one partition at a time. For one thread.
class Adapter {
 public:
  // Starts `command` by the shell and greets it. `cancelled`, which may be null, is asked now and
  // then while an answer is awaited. Errors as Ask().
  static absl::StatusOr<std::unique_ptr<Adapter>> Start(const std::string& command,
                                                        std::function<bool()> cancelled = nullptr);
  // Ends the adapter's input, and kills it if it has not left after two seconds.
  ~Adapter();

  Column column() const { return column_; }          // whose answers it expects to give
  const std::string& name() const { return name_; }  // of the implementation, with its version

  // A fresh partition, as `spec` says, which replaces the one before; the Adapter must outlive it.
  // UNIMPLEMENTED: the implementation has no such partition. Check() and GetDeviceTree() of the
  // machine are UNIMPLEMENTED; an ABORTED of any call means that the implementation crashed.
  absl::StatusOr<std::unique_ptr<client::Machine>> CreateMachine(const std::string& spec);

  // Sends a request, and gives what follows "ok" in the answer. UNIMPLEMENTED, ABORTED, INTERNAL:
  // the answer is "unsupported", "crashed" or "error". What follows is for good: UNAVAILABLE: the
  // adapter has ended, or does not keep to the protocol; DEADLINE_EXCEEDED: no answer in two
  // minutes; CANCELLED.
  absl::StatusOr<std::string> Ask(const std::string& request);
  // The same, where nothing may follow "ok".
  absl::Status Tell(const std::string& request);
  // Ends the use of the adapter because of what came of `request`; gives the error of all further
  // calls.
  absl::Status GiveUp(const std::string& request, const absl::Status& why);

 private:
  Adapter(std::string command, std::unique_ptr<ChildProcess> process,
          std::function<bool()> cancelled)
      : command_(std::move(command)),
        process_(std::move(process)),
        cancelled_(std::move(cancelled)) {}
  absl::Status Greet();
  absl::StatusOr<std::string> Exchange(const std::string& request);

  const std::string command_;
  const std::unique_ptr<ChildProcess> process_;
  const std::function<bool()> cancelled_;
  absl::Status lost_;  // not OK once the adapter is of no more use
  Column column_ = Column::kPapr;
  std::string name_;
};

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_ADAPTER_MACHINE_H_

// The adapter's end of the protocol, for adapters written in C++: a client::Machine answers the
// lines.

#ifndef CLIENT_CONFORMANCE_ADAPTER_SERVER_H_
#define CLIENT_CONFORMANCE_ADAPTER_SERVER_H_

#include <iosfwd>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "client/conformance/column.h"
#include "client/machine.h"
#include "hcall/partition_config.h"

namespace papr::conformance {

struct AdapterIdentity {
  Column column = Column::kPapr;  // whose answers the implementation gives
  std::string name;               // one line, with the version
};

// Makes a fresh partition. UNIMPLEMENTED: the implementation has no such partition.
using AdapterMachineFactory = absl::FunctionRef<absl::StatusOr<std::unique_ptr<client::Machine>>(
    const hcall::PartitionConfig&)>;

// Answers requests from `in` on `out` until `in` ends. A request that cannot be parsed, or comes
// before a partition is created, is answered "error". The machine before is gone when the factory
// is called.
void ServeAdapter(const AdapterIdentity& identity, AdapterMachineFactory make_machine,
                  std::istream& in, std::ostream& out);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_ADAPTER_SERVER_H_

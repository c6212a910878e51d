// A partition's table out of a daemon and into it, as the stream of KVM_PPC_GET_HTAB_FD
// (mmu/htab_stream.h). The calls have no deadline: an export may follow a guest for as long as it
// runs. Errors: as Connection::ToStatus().
//
// Each is for one thread; many may share the Connection.

#ifndef CLIENT_HPT_STREAM_H_
#define CLIENT_HPT_STREAM_H_

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection.h"
#include "hcall/htab_export.h"
#include "papr/mmu/v1/partition.pb.h"

namespace papr::client {

// While it lives the daemon keeps record of what changes.
class HptExport {
 public:
  HptExport(std::shared_ptr<Connection> connection, const std::string& partition,
            const hcall::HtabExport::Options& options);
  ~HptExport();

  // One read of at most `max_bytes` (0: the daemon's default). The first tells also why the export
  // could not be opened; after an error there is nothing more. ABORTED: the table was reset or
  // resized.
  absl::StatusOr<mmu::v1::ExportHptResponse> Read(uint32_t max_bytes);

 private:
  struct Rpc;
  const std::shared_ptr<Connection> connection_;
  const std::unique_ptr<Rpc> rpc_;
};

class HptImport {
 public:
  HptImport(std::shared_ptr<Connection> connection, const std::string& partition,
            std::endian header_order);
  ~HptImport();  // without Finish(): the daemon is told that the rest will not come

  // Sends the next bytes, cut anywhere. After an error, which may be about bytes sent before, there
  // is nothing more.
  absl::Status Write(std::string_view bytes);
  // All is sent: waits until it is stored, and returns what was.
  absl::StatusOr<mmu::v1::ImportHptResponse> Finish();

 private:
  struct Rpc;
  const std::shared_ptr<Connection> connection_;
  const std::unique_ptr<Rpc> rpc_;
};

}  // namespace papr::client

#endif  // CLIENT_HPT_STREAM_H_

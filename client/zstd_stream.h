// A file as a std::istream, decompressed on the way if its name ends in ".zst".
//
// For one thread. A read error or damaged data ends the stream as the end of the file does: ask
// status() when the stream has ended.

#ifndef CLIENT_ZSTD_STREAM_H_
#define CLIENT_ZSTD_STREAM_H_

#include <istream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace papr::client {

class InputFile {
 public:
  // NOT_FOUND: there is no such file. FAILED_PRECONDITION: it cannot be opened, with the reason.
  static absl::StatusOr<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile();

  std::istream& stream();
  // DATA_LOSS if the file could not be read to its end or its compressed data is damaged or cut
  // short.
  absl::Status status() const;
  // How much of the file has been read, 0 to 1.
  double fraction_read() const;

 private:
  class Buffer;

  explicit InputFile(std::unique_ptr<Buffer> buffer);

  const std::unique_ptr<Buffer> buffer_;
  std::istream stream_;
};

}  // namespace papr::client

#endif  // CLIENT_ZSTD_STREAM_H_

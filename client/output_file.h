// A file that is written from beginning to end, compressed on the way if its name ends in ".zst".
//
// For one thread.

#ifndef CLIENT_OUTPUT_FILE_H_
#define CLIENT_OUTPUT_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace papr::client {

class OutputFile {
 public:
  // Creates the file or empties it; "-" is standard output. FAILED_PRECONDITION, with the reason:
  // it cannot be opened.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Open(const std::string& path);
  // Without Finish() before it, a regular file is removed: what is in it is not all.
  ~OutputFile();

  // DATA_LOSS, with the reason, from each of these: it cannot be written.
  absl::Status Write(std::string_view bytes);
  // What was written so far gets where it is to go.
  absl::Status Flush();
  // Nothing more will be written.
  absl::Status Finish();

 private:
  class Impl;
  explicit OutputFile(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace papr::client

#endif  // CLIENT_OUTPUT_FILE_H_

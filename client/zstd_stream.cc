#include "client/zstd_stream.h"

#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <streambuf>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace papr::client {
namespace {

struct FreeDecompressor {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

class InputFile::Buffer : public std::streambuf {
 public:
  Buffer(std::string path, std::ifstream file, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size), out_(ZSTD_DStreamOutSize()) {
    if (absl::EndsWith(path_, ".zst")) {
      decompressor_.reset(ZSTD_createDCtx());
      in_.resize(ZSTD_DStreamInSize());
    }
  }

  const absl::Status& status() const { return status_; }
  double fraction_read() const {
    return size_ == 0 ? 1 : static_cast<double>(read_) / static_cast<double>(size_);
  }

 protected:
  int_type underflow() override {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    const size_t bytes = decompressor_ != nullptr ? Decompress() : ReadFile(&out_);
    if (bytes == 0) return traits_type::eof();
    setg(out_.data(), out_.data(), out_.data() + bytes);
    return traits_type::to_int_type(*gptr());
  }

 private:
  // Fills `buffer` from the file and returns the bytes read; 0 at the end or after an error.
  size_t ReadFile(std::vector<char>* buffer) {
    file_.read(buffer->data(), static_cast<std::streamsize>(buffer->size()));
    if (file_.bad()) status_ = absl::DataLossError(absl::StrCat("cannot read ", path_));
    const auto bytes = static_cast<size_t>(file_.gcount());
    read_ += bytes;
    return bytes;
  }

  // Fills `out_` and returns the bytes in it; 0 at the end or after an error.
  size_t Decompress() {
    while (status_.ok()) {
      // Data may still wait inside the decompressor when the input is used up.
      if (input_.pos == input_.size && !output_was_full_) {
        input_ = {in_.data(), ReadFile(&in_), 0};
        if (input_.size == 0) {
          if (in_frame_) {
            status_ = absl::DataLossError(absl::StrCat(path_, " ends inside its compressed data"));
          }
          return 0;
        }
      }
      ZSTD_outBuffer output = {out_.data(), out_.size(), 0};
      const size_t hint = ZSTD_decompressStream(decompressor_.get(), &output, &input_);
      if (ZSTD_isError(hint) != 0) {
        status_ =
            absl::DataLossError(absl::StrCat(path_, " is damaged: ", ZSTD_getErrorName(hint)));
        return 0;
      }
      in_frame_ = hint != 0;
      output_was_full_ = output.pos == output.size;
      if (output.pos > 0) return output.pos;
    }
    return 0;
  }

  const std::string path_;
  std::ifstream file_;
  const uint64_t size_;
  std::vector<char> out_;
  std::vector<char> in_;
  std::unique_ptr<ZSTD_DCtx, FreeDecompressor> decompressor_;  // null: the file is plain
  ZSTD_inBuffer input_ = {nullptr, 0, 0};
  bool in_frame_ = false;
  bool output_was_full_ = false;
  uint64_t read_ = 0;
  absl::Status status_;
};

absl::StatusOr<std::unique_ptr<InputFile>> InputFile::Open(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {  // which opens well, and then cannot be read
    return absl::FailedPreconditionError(
        absl::StrCat("cannot open ", path, ": ", std::strerror(EISDIR)));
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file.is_open()) {
    const int error = errno;
    const std::string text = absl::StrCat("cannot open ", path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(text) : absl::FailedPreconditionError(text);
  }
  const std::streamoff size = std::max<std::streamoff>(0, file.tellg());
  file.seekg(0);
  return std::unique_ptr<InputFile>(
      new InputFile(std::make_unique<Buffer>(path, std::move(file), static_cast<uint64_t>(size))));
}

InputFile::InputFile(std::unique_ptr<Buffer> buffer)
    : buffer_(std::move(buffer)), stream_(buffer_.get()) {}

InputFile::~InputFile() = default;

std::istream& InputFile::stream() { return stream_; }

absl::Status InputFile::status() const { return buffer_->status(); }

double InputFile::fraction_read() const { return buffer_->fraction_read(); }

}  // namespace papr::client

#include "client/output_file.h"

#include <zstd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace papr::client {
namespace {

struct FreeCompressor {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

class OutputFile::Impl {
 public:
  Impl(std::string path, FILE* file) : path_(std::move(path)), file_(file) {
    if (!absl::EndsWith(path_, ".zst")) return;
    compressor_.reset(ZSTD_createCCtx());
    out_.resize(ZSTD_CStreamOutSize());
  }
  ~Impl() {
    if (file_ == nullptr) return;
    Close();
    std::error_code ignored;
    if (path_ != "-" && std::filesystem::is_regular_file(path_, ignored)) {
      std::filesystem::remove(path_, ignored);
    }
  }

  absl::Status Write(std::string_view bytes) {
    return compressor_ == nullptr ? WriteFile(bytes) : Compress(bytes, ZSTD_e_continue);
  }
  absl::Status Flush() {
    if (compressor_ != nullptr) {
      if (absl::Status status = Compress({}, ZSTD_e_flush); !status.ok()) return status;
    }
    return std::fflush(file_) == 0 ? absl::OkStatus() : Lost();
  }
  absl::Status Finish() {
    if (compressor_ != nullptr) {
      if (absl::Status status = Compress({}, ZSTD_e_end); !status.ok()) return status;
    }
    if (std::fflush(file_) != 0 || !Close()) return Lost();
    return absl::OkStatus();
  }

 private:
  absl::Status Lost() const {
    return absl::DataLossError(absl::StrCat("cannot write ", path_ == "-" ? "the output" : path_,
                                            ": ", std::strerror(errno)));
  }

  absl::Status WriteFile(std::string_view bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() ? absl::OkStatus()
                                                                             : Lost();
  }

  absl::Status Compress(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer output = {out_.data(), out_.size(), 0};
      const size_t left = ZSTD_compressStream2(compressor_.get(), &output, &input, how);
      if (ZSTD_isError(left) != 0) {
        return absl::DataLossError(
            absl::StrCat("cannot compress ", path_, ": ", ZSTD_getErrorName(left)));
      }
      if (absl::Status s = WriteFile({out_.data(), output.pos}); !s.ok()) return s;
      if (how == ZSTD_e_continue ? input.pos == input.size : left == 0) return absl::OkStatus();
    }
  }

  // Standard output stays open for others.
  bool Close() {
    FILE* file = std::exchange(file_, nullptr);
    return path_ == "-" || std::fclose(file) == 0;
  }

  const std::string path_;
  FILE* file_;                                             // null: closed
  std::unique_ptr<ZSTD_CCtx, FreeCompressor> compressor_;  // null: the file is plain
  std::vector<char> out_;
};

absl::StatusOr<std::unique_ptr<OutputFile>> OutputFile::Open(const std::string& path) {
  FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<OutputFile>(new OutputFile(std::make_unique<Impl>(path, file)));
}

OutputFile::OutputFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

OutputFile::~OutputFile() = default;

absl::Status OutputFile::Write(std::string_view bytes) { return impl_->Write(bytes); }

absl::Status OutputFile::Flush() { return impl_->Flush(); }

absl::Status OutputFile::Finish() { return impl_->Finish(); }

}  // namespace papr::client

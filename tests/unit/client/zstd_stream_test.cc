#include "client/zstd_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace papr::client {
namespace {

// A file that goes with the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& suffix, const std::string& bytes)
      : path_(absl::StrCat(::testing::TempDir(), "zstd_stream_", getpid(), suffix)) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string Compress(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string ReadAll(InputFile& file) {
  return {std::istreambuf_iterator<char>(file.stream()), std::istreambuf_iterator<char>()};
}

// Much more than a buffer, and not a multiple of one.
std::string LongText() {
  std::string text;
  for (int i = 0; i < 200000; ++i) absl::StrAppend(&text, i, "\n");
  return text;
}

TEST(InputFileTest, ReadsCompressedAndPlainFiles) {
  const std::string text = LongText();
  for (const auto& [suffix, bytes] :
       {std::pair<std::string, std::string>{".zst", Compress(text)}, {".txt", text}}) {
    const TemporaryFile stored(suffix, bytes);
    auto file = InputFile::Open(stored.path());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(ReadAll(**file), text);
    EXPECT_TRUE((*file)->status().ok());
    EXPECT_EQ((*file)->fraction_read(), 1.0);
  }
}

TEST(InputFileTest, FramesFollowEachOther) {
  const TemporaryFile stored(".zst", Compress("one ") + Compress("two"));
  auto file = InputFile::Open(stored.path());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(ReadAll(**file), "one two");
  EXPECT_TRUE((*file)->status().ok());
}

TEST(InputFileTest, ACutFileIsNotItsEnd) {
  const std::string bytes = Compress(LongText());
  const TemporaryFile stored(".zst", bytes.substr(0, bytes.size() / 2));
  auto file = InputFile::Open(stored.path());
  ASSERT_TRUE(file.ok());
  ReadAll(**file);
  EXPECT_TRUE(absl::IsDataLoss((*file)->status())) << (*file)->status();
}

TEST(InputFileTest, WhatIsNoZstdIsDamage) {
  const TemporaryFile stored(".zst", "plain text");
  auto file = InputFile::Open(stored.path());
  ASSERT_TRUE(file.ok());
  ReadAll(**file);
  EXPECT_TRUE(absl::IsDataLoss((*file)->status()));
}

TEST(InputFileTest, AMissingFileIsNamed) {
  const auto file = InputFile::Open("/nonexistent/file.zst");
  EXPECT_TRUE(absl::IsNotFound(file.status()));
  EXPECT_NE(file.status().message().find("/nonexistent/file.zst"), std::string::npos);
}

TEST(InputFileTest, ADirectoryIsNoFile) {
  const auto file = InputFile::Open(::testing::TempDir());
  EXPECT_TRUE(absl::IsFailedPrecondition(file.status()));
  EXPECT_NE(file.status().message().find("Is a directory"), std::string::npos) << file.status();
}

}  // namespace
}  // namespace papr::client

// What Linux KVM-HV's own KVM_PPC_GET_HTAB_FD wrote, recorded with the hcalls between its reads:
// every read of an export gives the same bytes, and an import of them the same table.

#include <gtest/gtest.h>

#include <istream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/zstd_stream.h"
#include "hcall/dispatch.h"
#include "hcall/htab_export.h"
#include "hcall/htab_import.h"
#include "hcall/trace.h"

namespace papr::hcall {
namespace {

std::unique_ptr<client::InputFile> OpenFile(const std::string& kind) {
  const std::string path =
      absl::StrCat(TEST_DATA_DIR, "/conformance/traces/kvm-htab-stream.", kind, ".zst");
  auto file = client::InputFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

class HtabStreamTest : public testing::Test {
 protected:
  HtabStreamTest() {
    const auto bytes = OpenFile("bin");
    stream_.assign(std::istreambuf_iterator<char>(bytes->stream()), {});
    auto partition = Partition::Create(*trace_.header().ToPartitionConfig());
    EXPECT_TRUE(partition.ok()) << partition.status();
    partition_ = *std::move(partition);
  }

  // A record of the trace that changes the table, or a mark.
  void Play(const TraceRecord& record) {
    if (const auto* call = std::get_if<TraceHcall>(&record)) {
      HcallRequest request;
      request.opcode = call->opcode;
      request.registers = call->arguments;
      EXPECT_EQ(Dispatch(*partition_, request).return_code, call->return_code);
    } else if (const auto* walk = std::get_if<TraceWalk>(&record)) {
      const ReferenceChange update = {walk->ptex, !walk->change, walk->change};
      size_t applied = 0;
      EXPECT_TRUE(partition_->SetReferenceChange({&update, 1}, &applied).ok());
    } else if (const auto* mark = std::get_if<TraceMark>(&record)) {
      PlayMark(absl::StrSplit(mark->text, ' '));
    }
  }

  void PlayMark(const std::vector<std::string>& words) {
    if (words[0] == "htab-open") {
      auto opened = HtabExport::Open(*partition_, {.kvm_exact = true});
      ASSERT_TRUE(opened.ok()) << opened.status();
      export_ = *std::move(opened);
    } else if (words[0] == "htab-read") {
      size_t count = 0;
      size_t bytes = 0;
      ASSERT_TRUE(absl::SimpleAtoi(words.at(1), &count) && absl::SimpleAtoi(words.at(2), &bytes));
      ExpectRead(count, stream_.substr(compared_, bytes));
      compared_ += bytes;
    } else if (words[0] == "htab-pass-end") {
      ++passes_;
      EXPECT_EQ(absl::StrCat(passes_), words.at(1));
      EXPECT_TRUE(at_end_);
    }
  }

  void ExpectRead(size_t count, const std::string& expected) {
    std::string buffer(count, '\0');
    const auto result = export_->Read({buffer.data(), count});
    ASSERT_TRUE(result.ok()) << result.status();
    buffer.resize(result->bytes);
    EXPECT_EQ(absl::BytesToHexString(buffer), absl::BytesToHexString(expected))
        << "read " << reads_ << " from byte " << compared_;
    at_end_ = result->end_of_table;
    ++reads_;
  }

  const std::unique_ptr<client::InputFile> trace_file_ = OpenFile("trace");
  TraceReader trace_ = *TraceReader::Open(trace_file_->stream());
  std::unique_ptr<Partition> partition_;
  std::unique_ptr<HtabExport> export_;
  std::string stream_;
  size_t compared_ = 0;  // bytes of stream_
  int reads_ = 0;
  int passes_ = 0;
  bool at_end_ = false;
};

TEST_F(HtabStreamTest, EveryReadGivesTheBytesOfKvm) {
  for (;;) {
    const auto record = trace_.Next();
    ASSERT_TRUE(record.ok()) << record.status();
    if (!record->has_value()) break;
    Play(**record);
  }
  EXPECT_EQ(compared_, stream_.size());
  EXPECT_EQ(reads_, 9);
  EXPECT_EQ(passes_, 4);
}

TEST_F(HtabStreamTest, AnImportOfTheBytesGivesTheFinalTable) {
  const auto final_file = OpenFile("final");
  const auto expected = ReadTraceFinal(final_file->stream());
  ASSERT_TRUE(expected.ok()) << expected.status();
  HtabImport to(*partition_, std::endian::little);
  const auto consumed = to.Write(stream_);
  ASSERT_TRUE(consumed.ok()) << consumed.status();
  EXPECT_EQ(*consumed, stream_.size());
  EXPECT_EQ(partition_->GetStatistics().valid, expected->valid);
  uint64_t digest = 0;
  for (const auto& [ptex, hpte] : expected->entries) digest += DigestTerm(ptex, hpte);
  EXPECT_EQ(partition_->GetStatistics().digest, digest);
}

}  // namespace
}  // namespace papr::hcall

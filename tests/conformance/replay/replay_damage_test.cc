// A replay notices damage: with a single record taken out of a trace, or a single bit of its final
// table changed, it reports mismatches.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/workload/replay.h"
#include "client/zstd_stream.h"
#include "hcall/trace.h"

namespace papr::client {
namespace {

using ::testing::HasSubstr;

std::string TracePath(const std::string& name, const std::string& kind) {
  return absl::StrCat(TEST_DATA_DIR, "/conformance/traces/", name, ".", kind, ".zst");
}

std::vector<std::string> ReadLines(const std::string& path) {
  absl::StatusOr<std::unique_ptr<InputFile>> file = InputFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  std::vector<std::string> lines;
  for (std::string line; std::getline((*file)->stream(), line);) lines.push_back(line);
  EXPECT_TRUE((*file)->status().ok());
  return lines;
}

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, line, "\n");
  return text;
}

// Plays a trace and final table given as lines.
ReplayReport Play(const std::vector<std::string>& trace_lines,
                  const std::vector<std::string>& final_lines) {
  std::istringstream trace_stream(Join(trace_lines));
  std::istringstream final_stream(Join(final_lines));
  auto trace = hcall::TraceReader::Open(trace_stream);
  auto final_table = hcall::ReadTraceFinal(final_stream);
  EXPECT_TRUE(trace.ok()) << trace.status();
  EXPECT_TRUE(final_table.ok()) << final_table.status();
  auto machine = CreateMachine(kLocalTarget, "damage", *trace->header().ToPartitionConfig());
  EXPECT_TRUE(machine.ok()) << machine.status();
  ReplayInput input;
  input.trace = &*trace;
  input.trace_path = "damaged.trace";
  input.final_table = &*final_table;
  input.final_path = "damaged.final";
  absl::StatusOr<ReplayReport> report = ReplayOn(machine->get(), input, {});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : ReplayReport();
}

// Positions of the lines that begin with `start` and end an hcall with success, or are no hcalls.
std::vector<size_t> LinesOf(const std::vector<std::string>& lines, const std::string& start) {
  std::vector<size_t> found;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!absl::StartsWith(lines[i], start)) continue;
    const bool hcall = start[0] == 'H';
    if (!hcall || absl::StrContains(lines[i], " = 0") || absl::EndsWith(lines[i], " = 0")) {
      found.push_back(i);
    }
  }
  return found;
}

struct Damage {
  const char* what;
  const char* trace;
  const char* start;  // of the lines to take one out of
};

class ReplayDamageTest : public ::testing::TestWithParam<Damage> {};

TEST_P(ReplayDamageTest, OneMissingRecordIsNoticed) {
  const std::vector<std::string> trace = ReadLines(TracePath(GetParam().trace, "trace"));
  const std::vector<std::string> final_table = ReadLines(TracePath(GetParam().trace, "final"));
  const std::vector<size_t> candidates = LinesOf(trace, GetParam().start);
  ASSERT_FALSE(candidates.empty());
  for (const size_t part : {0, 1, 2, 3, 4}) {
    const size_t line = candidates[part * (candidates.size() - 1) / 4];
    std::vector<std::string> damaged = trace;
    damaged.erase(damaged.begin() + static_cast<std::ptrdiff_t>(line));
    EXPECT_GT(Play(damaged, final_table).mismatches, 0u)
        << "without line " << line + 1 << ": " << trace[line];
  }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, ReplayDamageTest,
                         ::testing::Values(Damage{"Change", "pkey-6.1-64k", "C 0 "},
                                           Damage{"Reference", "kvm-htab-stream", "R 0 "},
                                           Damage{"HRemove", "hugetlb-6.1-64k-16m", "H 0 4 "},
                                           Damage{"HEnter", "mmap128-6.1-64k", "H 0 8 "},
                                           Damage{"HProtect", "pkey-6.1-64k", "H 0 18 "},
                                           Damage{"HBulkRemove", "mmap128-6.1-64k", "H 0 124 "},
                                           Damage{"InitialEntry", "hugetlb-6.1-64k-16m", "I "}),
                         [](const auto& suite) { return std::string(suite.param.what); });

TEST(ReplayReportTest, AnUndamagedTraceMatches) {
  const ReplayReport report = Play(ReadLines(TracePath("kvm-htab-stream", "trace")),
                                   ReadLines(TracePath("kvm-htab-stream", "final")));
  EXPECT_EQ(report.mismatches, 0u);
  EXPECT_TRUE(report.final_compared);
  EXPECT_EQ(report.final_entries, uint64_t{1} << 17);
  EXPECT_EQ(report.hcalls, 1961u);
}

TEST(ReplayReportTest, AChangedFinalTableIsNoticedEntryByEntry) {
  const std::vector<std::string> trace = ReadLines(TracePath("kvm-htab-stream", "trace"));
  std::vector<std::string> final_table = ReadLines(TracePath("kvm-htab-stream", "final"));
  for (std::string& line : final_table) {
    if (absl::StartsWith(line, "V ")) {
      line.back() = line.back() == '1' ? '2' : '1';
      break;
    }
  }
  const ReplayReport report = Play(trace, final_table);
  ASSERT_EQ(report.mismatches, 1u);
  EXPECT_EQ(report.first[0].file, "damaged.final");
  EXPECT_THAT(report.first[0].what, HasSubstr("entry 0x"));
}

TEST(ReplayReportTest, AnUnlistedEntryIsNoticed) {
  const std::vector<std::string> trace = ReadLines(TracePath("kvm-htab-stream", "trace"));
  std::vector<std::string> final_table = ReadLines(TracePath("kvm-htab-stream", "final"));
  const auto listed = std::find_if(final_table.begin(), final_table.end(),
                                   [](const auto& line) { return absl::StartsWith(line, "V "); });
  final_table.erase(listed);
  EXPECT_EQ(Play(trace, final_table).mismatches, 1u);
}

TEST(ReplayReportTest, AMismatchNamesLineAndBothValues) {
  std::vector<std::string> trace = ReadLines(TracePath("kvm-htab-stream", "trace"));
  const size_t line = LinesOf(trace, "H 0 8 ").front();
  trace[line].back() = trace[line].back() == '0' ? '1' : '0';  // the slot that was taken
  const ReplayReport report = Play(trace, ReadLines(TracePath("kvm-htab-stream", "final")));
  ASSERT_EQ(report.mismatches, 1u);
  EXPECT_EQ(report.first[0].line, line + 1);
  const std::string text = DescribeMismatch(report.first[0]);
  EXPECT_THAT(text, HasSubstr(absl::StrCat("damaged.trace:", line + 1, ": H_ENTER(flags=0x0")));
  EXPECT_THAT(text, HasSubstr("expected H_SUCCESS 0x"));
  EXPECT_THAT(text, HasSubstr(", got H_SUCCESS 0x"));
}

// A copy of a committed trace and its final table in a folder of its own.
class ReplayFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + absl::StrCat("replay_", getpid());
    ASSERT_EQ(std::system(("mkdir -p " + folder_).c_str()), 0);
  }
  void TearDown() override { ASSERT_EQ(std::system(("rm -r " + folder_).c_str()), 0); }

  // Copies the first `fraction` of a file's bytes.
  std::string Copy(const std::string& kind, double fraction) {
    std::ifstream from(TracePath("kvm-htab-stream", kind), std::ios::binary);
    std::stringstream bytes;
    bytes << from.rdbuf();
    const std::string all = bytes.str();
    const std::string path = absl::StrCat(folder_, "/copy.", kind, ".zst");
    std::ofstream(path, std::ios::binary)
        << all.substr(0, static_cast<size_t>(static_cast<double>(all.size()) * fraction));
    return path;
  }

  std::string folder_;
};

TEST_F(ReplayFileTest, ACutTraceIsAnError) {
  Copy("final", 1);
  const auto report = ReplayFile(Copy("trace", 0.5), kLocalTarget, {});
  EXPECT_TRUE(absl::IsDataLoss(report.status())) << report.status();
}

TEST_F(ReplayFileTest, ACutFinalTableIsAnError) {
  Copy("final", 0.5);
  const auto report = ReplayFile(Copy("trace", 1), kLocalTarget, {});
  EXPECT_TRUE(absl::IsDataLoss(report.status())) << report.status();
}

TEST_F(ReplayFileTest, AMissingFinalTableIsAnErrorUnlessAllowed) {
  const std::string path = Copy("trace", 1);
  EXPECT_TRUE(absl::IsNotFound(ReplayFile(path, kLocalTarget, {}).status()));
  ReplayOptions options;
  options.final_required = false;
  const auto report = ReplayFile(path, kLocalTarget, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->final_compared);
  EXPECT_THAT(DescribeReport(*report), HasSubstr("NO FINAL TABLE"));
}

TEST_F(ReplayFileTest, AMissingTraceIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(ReplayFile(folder_ + "/none.trace.zst", kLocalTarget, {}).status()));
}

}  // namespace
}  // namespace papr::client

#include "hcall/trace.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace papr::hcall {
namespace {

using testing::HasSubstr;

constexpr char kHeader[] =
    "# papr-hpt-trace 1\n"
    "# name test\n"
    "# ram_size 536870912\n"
    "# devmem_base 0x40000000\n"
    "# devmem_size 0x10000000\n"
    "# sps 12 0 12:0 24:38\n"
    "# sps 16 110 16:1\n"
    "# order_start 22\n";

class TraceTest : public testing::Test {
 protected:
  // A reader over the header and `records`.
  TraceReader& Open(const std::string& records, const char* header = kHeader) {
    input_.str(header + records);
    input_.clear();
    auto reader = TraceReader::Open(input_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    reader_.emplace(*std::move(reader));
    return *reader_;
  }
  // The only record of a trace.
  template <typename T>
  T Only(const std::string& line) {
    TraceReader& reader = Open(line + "\n");
    auto record = reader.Next();
    EXPECT_TRUE(record.ok()) << record.status();
    EXPECT_TRUE(record.ok() && record->has_value());
    const T* as = std::get_if<T>(&**record);
    EXPECT_NE(as, nullptr) << line;
    EXPECT_EQ(reader.line_number(), 9u);
    const auto end = reader.Next();
    EXPECT_TRUE(end.ok() && !end->has_value());
    return as != nullptr ? *as : T{};
  }

  std::istringstream input_;
  std::optional<TraceReader> reader_;
};

TEST_F(TraceTest, Hcall) {
  const auto hcall = Only<TraceHcall>("H 1 8 0 3ff5 1f81 fff012 = 0 3ff0");
  EXPECT_EQ(hcall.cpu, 1);
  EXPECT_EQ(hcall.opcode, 8u);
  EXPECT_EQ(hcall.argument_count, 4);
  EXPECT_EQ(hcall.arguments[1], 0x3ff5u);
  EXPECT_EQ(hcall.arguments[3], 0xfff012u);
  EXPECT_EQ(hcall.return_code, 0);
  EXPECT_EQ(hcall.output_count, 1);
  EXPECT_EQ(hcall.outputs[0], 0x3ff0u);
}

TEST_F(TraceTest, HcallThatFails) {
  const auto hcall = Only<TraceHcall>("H 0 4 80000000 3ff5 ffffffffffffffff = -7");
  EXPECT_EQ(hcall.return_code, -7);
  EXPECT_EQ(hcall.argument_count, 3);
  EXPECT_EQ(hcall.arguments[2], ~uint64_t{0});
  EXPECT_EQ(hcall.output_count, 0);
}

TEST_F(TraceTest, EveryOtherRecord) {
  const auto allocate = Only<TraceAllocate>("A 22 40 0");
  EXPECT_EQ(allocate.order, 22);
  EXPECT_EQ(allocate.ground, (mmu::Hpte{0x40, 0}));
  const auto initial = Only<TraceInitial>("I 3ff0 1f81 fff012");
  EXPECT_EQ(initial.ptex, 0x3ff0u);
  EXPECT_EQ(initial.hpte, (mmu::Hpte{0x1f81, 0xfff012}));
  EXPECT_EQ(Only<TraceFree>("F 22").order, 22);
  EXPECT_EQ(Only<TraceEntry>("E 3ff0 1f81 fff012").hpte, (mmu::Hpte{0x1f81, 0xfff012}));
  EXPECT_FALSE(Only<TraceWalk>("R 1 3ff0").change);
  const auto change = Only<TraceWalk>("C 1 3ff0");
  EXPECT_TRUE(change.change);
  EXPECT_EQ(change.cpu, 1);
  EXPECT_EQ(change.ptex, 0x3ff0u);
  const auto prepared = Only<TracePrepared>("P 24 -9");
  EXPECT_EQ(prepared.order, 24);
  EXPECT_EQ(prepared.return_code, -9);
  const auto checkpoint = Only<TraceCheckpoint>("K 8261 fedcba9876543210");
  EXPECT_EQ(checkpoint.valid, 8261u);
  EXPECT_EQ(checkpoint.digest, 0xfedcba9876543210u);
  const auto other = Only<TraceOther>("O 54 17");
  EXPECT_EQ(other.opcode, 0x54u);
  EXPECT_EQ(other.count, 17u);
  EXPECT_EQ(Only<TraceMark>("M begin mmap 128 MB").text, "begin mmap 128 MB");
}

TEST_F(TraceTest, MalformedRecordsAreNamedByLine) {
  for (const char* line : {"X 1 2",
                           "H",
                           "H 0",
                           "H 0 8 1 2",
                           "H 0 8 1 2 =",
                           "H 0 8 1 2 = x",
                           "H 0 8 1g = 0",
                           "H x 8 1 = 0",
                           "H 0 8 1 2 3 4 5 6 7 8 9 a = 0",
                           "H 0 8 1 = 0 1 2 3 4 5 6 7 8 9 a",
                           "H 0 8  1 = 0",
                           "E 1 2",
                           "E 1 2 3 4",
                           "I 1 2 z",
                           "R 0",
                           "C 0 1 2",
                           "K 1",
                           "K -x 1",
                           "P 24",
                           "P a 0",
                           "A 22 40",
                           "F",
                           "F 22 1",
                           "O 54",
                           "H 0 8 10000000000000000 = 0",
                           " H 0 8 = 0"}) {
    TraceReader& reader = Open(std::string("R 0 1\n") + line + "\n");
    ASSERT_TRUE(reader.Next().ok());
    const auto record = reader.Next();
    ASSERT_FALSE(record.ok()) << line;
    EXPECT_EQ(record.status().code(), absl::StatusCode::kInvalidArgument) << line;
    EXPECT_THAT(std::string(record.status().message()), HasSubstr("line 10"));
  }
}

TEST_F(TraceTest, OnlyKnownVersionsOpen) {
  for (const char* text : {"", "R 0 1\n", "# name x\n", "# papr-hpt-trace 2\n",
                           "# papr-hpt-trace\n", "\x28\xb5\x2f\xfd"}) {
    std::istringstream input(text);
    const auto reader = TraceReader::Open(input);
    ASSERT_FALSE(reader.ok()) << text;
    EXPECT_EQ(reader.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(TraceTest, TheHeaderGivesTheMachine) {
  TraceReader& reader = Open("");
  EXPECT_EQ(reader.header().Get("name"), "test");
  EXPECT_EQ(reader.header().Get("nothing"), "");
  const auto config = reader.header().ToPartitionConfig();
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->profile, Profile::kQemuTcg);
  EXPECT_EQ(config->order, 22);
  EXPECT_EQ(config->resize_preparation, ResizePreparation::kManual);
  EXPECT_THAT(config->memory,
              testing::ElementsAre(MemoryRegion{0, uint64_t{512} << 20, MemoryRegion::Kind::kRam},
                                   MemoryRegion{0x40000000, 0x10000000, MemoryRegion::Kind::kRam}));
  EXPECT_EQ(config->page_sizes.LpOf({mmu::k4K, mmu::k16M}), 0x38u);
  EXPECT_EQ(config->page_sizes.LpOf({mmu::k16M, mmu::k16M}), std::nullopt);
  EXPECT_EQ(config->page_sizes.match(), mmu::PageSizeTable::Match::kWholePage);
}

TEST_F(TraceTest, AHeaderOfKvm) {
  TraceReader& reader = Open("", (std::string(kHeader) + "# profile kvm-hv\n").c_str());
  const auto config = reader.header().ToPartitionConfig();
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->profile, Profile::kKvmHv);
  EXPECT_EQ(config->page_sizes.match(), mmu::PageSizeTable::Match::kLpField);
}

TEST_F(TraceTest, AHeaderThatGivesNoMachine) {
  for (const char* line : {"# order_start 47\n", "# order_start x\n", "# profile other\n"}) {
    const std::string header = std::string("# papr-hpt-trace 1\n# ram_size 536870912\n") + line;
    TraceReader& reader = Open("", header.c_str());
    EXPECT_FALSE(reader.header().ToPartitionConfig().ok()) << line;
  }
  TraceReader& reader = Open("", "# papr-hpt-trace 1\n# order_start 22\n");
  EXPECT_FALSE(reader.header().ToPartitionConfig().ok());
}

TEST_F(TraceTest, FinalTable) {
  std::istringstream input(
      "# order 22\n# default 40 0\nV 10 1fc1 fff012\nV 3ff0 41 1012\n# valid 2\n");
  const auto final_table = ReadTraceFinal(input);
  ASSERT_TRUE(final_table.ok()) << final_table.status();
  EXPECT_EQ(final_table->order, 22);
  EXPECT_EQ(final_table->ground, (mmu::Hpte{0x40, 0}));
  EXPECT_EQ(final_table->valid, 2u);
  ASSERT_EQ(final_table->entries.size(), 2u);
  EXPECT_EQ(final_table->entries[1].first, 0x3ff0u);
  EXPECT_EQ(final_table->entries[1].second, (mmu::Hpte{0x41, 0x1012}));
}

TEST_F(TraceTest, MalformedFinalTables) {
  for (const char* text :
       {"", "# order x\n# default 40 0\n# valid 0\n", "# order 22\n# default 40 0\nV 10 1fc1\n",
        "# order 22\n# default 40 0\nX 10 1 2\n# valid 0\n"}) {
    std::istringstream input(text);
    EXPECT_FALSE(ReadTraceFinal(input).ok()) << text;
  }
}

TEST_F(TraceTest, DigestTermOfOneEntry) {
  EXPECT_EQ(DigestTerm(0, {1, 0}), 0x9E3779B97F4A7C15u);
  EXPECT_EQ(DigestTerm(0, {0x61, 0}), DigestTerm(0, {1, 0}));
  EXPECT_EQ(DigestTerm(1, {0, 1}), 0xC2B2AE3D27D4EB4Fu * 3);
}

}  // namespace
}  // namespace papr::hcall

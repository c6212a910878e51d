#include "mmu/qemu_htab_section.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace papr::mmu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kStart =
    "01000000030a73706170722f687461620000000000000001"
    "00000012";
constexpr std::string_view kPart =
    "020000000300000000"
    "00000918000100000007ffffffffff850000000003038012"
    "00003ff0000100000000000000001f810000000000fff012"
    "0000000000000000";
constexpr std::string_view kEnd =
    "030000000300000000"
    "0000091800000001"
    "0000000000000000";
constexpr std::string_view kFooter = "7e00000003";

// hpt-format 9, the example.
std::string Example(bool footers) {
  const std::string footer(footers ? kFooter : "");
  return absl::HexStringToBytes(
      absl::StrFormat("%s%s%s%s%s%s", kStart, footer, kPart, footer, kEnd, footer));
}

std::string Hex(const std::string& hex) { return absl::HexStringToBytes(hex); }

// What the reader makes of a stream in pieces of `piece` bytes, as text.
absl::StatusOr<std::vector<std::string>> Read(std::string_view stream, size_t piece) {
  QemuHtabReader reader;
  std::vector<std::string> events;
  for (size_t at = 0; at < stream.size(); at += piece) {
    reader.Append(stream.substr(at, piece));
    for (;;) {
      const auto event = reader.Next();
      if (!event.ok()) return event.status();
      if (!event->has_value()) break;
      if (const auto* table = std::get_if<QemuHtabTable>(&**event)) {
        events.push_back(absl::StrFormat("table %d", table->order.value_or(-1)));
      } else if (const auto* record = std::get_if<HtabRecord>(&**event)) {
        events.push_back(absl::StrFormat("%x %d %d", record->header.index, record->header.n_valid,
                                         record->header.n_invalid));
      } else {
        events.emplace_back("end");
      }
    }
  }
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return events;
}

// hpt-format 10.23.
TEST(QemuHtabReader, TheExampleIsReadWhereverItIsCut) {
  for (const bool footers : {false, true}) {
    const std::string stream = Example(footers);
    for (size_t piece = 1; piece <= stream.size(); ++piece) {
      const auto events = Read(stream, piece);
      ASSERT_TRUE(events.ok()) << events.status();
      EXPECT_THAT(*events, ElementsAre("table 18", "918 1 0", "3ff0 1 0", "918 0 1", "end"));
    }
  }
}

TEST(QemuHtabWriter, TheExampleIsWrittenByteForByte) {
  for (const bool footers : {false, true}) {
    const QemuHtabWriter writer({.section_id = 3, .footers = footers});
    std::string out;
    writer.Start(18, &out);
    writer.BeginPart(&out);
    writer.Record({0x918, 1, 0}, Hex("0007ffffffffff850000000003038012"), &out);
    writer.Record({0x3ff0, 1, 0}, Hex("0000000000001f810000000000fff012"), &out);
    writer.FinishSection(&out);
    writer.BeginEnd(&out);
    writer.Record({0x918, 0, 1}, {}, &out);
    writer.FinishSection(&out);
    EXPECT_EQ(absl::BytesToHexString(out), absl::BytesToHexString(Example(footers)));
  }
}

TEST(QemuHtabReader, AWholeFileBeginsWithItsHeader) {
  const QemuHtabWriter writer({.section_id = 3, .footers = true, .file_header = true});
  std::string out;
  writer.Start(18, &out);
  EXPECT_EQ(absl::BytesToHexString(out), absl::StrFormat("5145564d00000003%s%s", kStart, kFooter));
  const auto events = Read(Hex("5145564d00000003") + Example(true), 7);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(events->size(), 5u);
}

TEST(QemuHtabReader, AGuestWithoutATableSaysSo) {
  const QemuHtabWriter writer({.section_id = 3});
  std::string out;
  writer.Start(std::nullopt, &out);
  writer.EndWithoutTable(&out);
  EXPECT_EQ(absl::BytesToHexString(out),
            "01000000030a73706170722f687461620000000000000001ffffffff7e00000003"
            "0300000003ffffffff7e00000003");
  const auto events = Read(out, 1);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT(*events, ElementsAre("table -1", "table -1"));
}

// hpt-format 10.23: the terminator directly after the word 0.
TEST(QemuHtabReader, ASectionMayHoldNoRecord) {
  const std::string empty = "0300000003000000000000000000000000";
  const auto events = Read(Hex(absl::StrFormat("%s%s", kStart, empty)), 3);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT(*events, ElementsAre("table 18", "end"));
}

TEST(QemuHtabReader, ASecondStartMakesAFreshTable) {
  std::string again(kStart);
  again.back() = '3';
  const auto events = Read(Hex(absl::StrFormat("%s%s%s%s", kStart, kPart, again, kEnd)), 5);
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_THAT(*events,
              ElementsAre("table 18", "918 1 0", "3ff0 1 0", "table 19", "918 0 1", "end"));
}

TEST(QemuHtabReader, WhatIsNoSuchStreamIsRefusedWithItsPlace) {
  const auto expect = [](const std::string& hex, const std::string& what) {
    const auto events = Read(Hex(hex), 1000);
    EXPECT_EQ(events.status().code(), absl::StatusCode::kInvalidArgument) << hex;
    EXPECT_THAT(std::string(events.status().message()), HasSubstr(what)) << hex;
  };
  const std::string start(kStart);
  expect("5145564e00000003", "byte 0: no migration stream");
  expect("5145564d00000002", "byte 0: version 2 ");
  expect("04", "byte 0: 0x04 begins no section");
  expect("0200000003", "byte 0: section 3 has not been started");
  expect(start + "0200000004", "byte 28: section 4 has not been started");
  expect(start + "7e00000004", "byte 28: the footer names another section");
  expect(start + "7e000000037e", "byte 33: 0x7e begins no section");
  expect("01000000030372616d0000000000000004", "byte 0: a section that is not \"spapr/htab\"");
  expect("01000000030a73706170722f687461620000000000000002", "byte 0: version 2 of spapr/htab");
  expect("01000000030a73706170722f68746162000000000000000100000011", "an order of 17 is outside");
  expect("01000000030a73706170722f6874616200000000000000010000002f", "an order of 47 is outside");
}

TEST(QemuHtabReader, AStreamThatIsCutShortIsDataLoss) {
  const std::string stream = Example(false);
  for (size_t bytes = 0; bytes < stream.size(); ++bytes) {
    const auto events = Read(std::string_view(stream).substr(0, bytes), 1000);
    EXPECT_EQ(events.status().code(), absl::StatusCode::kDataLoss) << bytes;
  }
}

}  // namespace
}  // namespace papr::mmu

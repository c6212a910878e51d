#include "mmu/htab_stream.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace papr::mmu {
namespace {

using testing::ElementsAre;

constexpr Hpte kFirst = {0x0007ffffffffffc5, 0x0000000003038012};
constexpr Hpte kSecond = {0x0000000000001fc1, 0x0000000000fff012};

// hpt-format 8.5, header little-endian.
std::string Example() {
  return absl::HexStringToBytes(
      "0000000000001809"
      "180900000100d7360007ffffffffffc50000000003038012"
      "f03f000001000f000000000000001fc10000000000fff012");
}

std::vector<HtabHeader> Headers(std::string_view stream, std::endian order) {
  std::vector<HtabHeader> headers;
  while (const auto record = ParseHtabRecord(stream, order)) {
    headers.push_back(record->header);
    stream.remove_prefix(record->bytes());
  }
  EXPECT_TRUE(stream.empty());
  return headers;
}

TEST(HtabStream, TheExampleReadsAsItsRecords) {
  EXPECT_THAT(Headers(Example(), std::endian::little),
              ElementsAre(HtabHeader{0, 0, 0x918}, HtabHeader{0x918, 1, 0x36d7},
                          HtabHeader{0x3ff0, 1, 0xf}));
  const std::string bytes = Example();
  const auto record = ParseHtabRecord(std::string_view(bytes).substr(8), std::endian::little);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->bytes(), 24u);
  EXPECT_EQ(record->entry(0), kFirst);
}

TEST(HtabStream, TheExampleIsWrittenAsItStands) {
  std::string out(56, '\0');
  EncodeHtabHeader({0, 0, 0x918}, std::endian::little, out.data());
  EncodeHtabHeader({0x918, 1, 0x36d7}, std::endian::little, out.data() + 8);
  EncodeHtabEntry(kFirst, out.data() + 16);
  EncodeHtabHeader({0x3ff0, 1, 0xf}, std::endian::little, out.data() + 32);
  EncodeHtabEntry(kSecond, out.data() + 40);
  EXPECT_EQ(absl::BytesToHexString(out), absl::BytesToHexString(Example()));
}

// The wrong behaviour: the header in the byte order of whatever host this runs on.
TEST(HtabStream, ABigEndianHeaderIsTheSameOnEveryHost) {
  char out[kHtabHeaderBytes];
  EncodeHtabHeader({0x918, 1, 0x36d7}, std::endian::big, out);
  EXPECT_EQ(absl::BytesToHexString({out, sizeof(out)}), "00000918000136d7");
  EXPECT_EQ(DecodeHtabHeader(out, std::endian::big), (HtabHeader{0x918, 1, 0x36d7}));
}

// hpt-format 8.4 step 1: the header's own bytes count too.
TEST(HtabStream, ARecordThatIsNotThereAsAWholeIsNone) {
  const std::string whole = Example().substr(8, 24);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(ParseHtabRecord(whole.substr(0, bytes), std::endian::little).has_value()) << bytes;
  }
  EXPECT_TRUE(ParseHtabRecord(whole, std::endian::little).has_value());
}

TEST(HtabStreamParser, RecordsComeWhereverTheStreamIsCut) {
  const std::string stream = Example();
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    HtabStreamParser parser(std::endian::little);
    std::vector<uint32_t> indices;
    for (size_t at = 0; at < stream.size(); at += piece) {
      parser.Append(std::string_view(stream).substr(at, piece));
      while (const auto record = parser.Next()) indices.push_back(record->header.index);
    }
    EXPECT_THAT(indices, ElementsAre(0u, 0x918u, 0x3ff0u)) << piece;
    EXPECT_EQ(parser.pending_bytes(), 0u);
  }
}

TEST(HtabStreamParser, WhatIsCutShortStaysPending) {
  HtabStreamParser parser(std::endian::little);
  parser.Append(Example().substr(0, 50));
  EXPECT_TRUE(parser.Next().has_value());
  EXPECT_TRUE(parser.Next().has_value());
  EXPECT_FALSE(parser.Next().has_value());
  EXPECT_EQ(parser.pending_bytes(), 18u);
}

TEST(HtabStream, TheLongestRunFits) {
  std::string bytes(kHtabHeaderBytes + kHtabMaxRun * kHtabEntryBytes, '\0');
  EncodeHtabHeader({1, 0xffff, 0xffff}, std::endian::little, bytes.data());
  EncodeHtabEntry(kSecond, bytes.data() + bytes.size() - kHtabEntryBytes);
  const auto record = ParseHtabRecord(bytes, std::endian::little);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->entry(0xfffe), kSecond);
  bytes.pop_back();
  EXPECT_FALSE(ParseHtabRecord(bytes, std::endian::little).has_value());
}

}  // namespace
}  // namespace papr::mmu

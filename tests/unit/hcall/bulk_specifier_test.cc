#include "hcall/bulk_specifier.h"

#include "gtest/gtest.h"

namespace papr::hcall {
namespace {

TEST(BulkSpecifier, Requests) {
  EXPECT_EQ(BulkRequest(BulkTest::kAbsolute, 0x3ff3), 0x4000000000003ff3u);
  EXPECT_EQ(BulkRequest(BulkTest::kAndCond, 0x3ff3), 0x4100000000003ff3u);
  EXPECT_EQ(BulkRequest(BulkTest::kAvpn, 0x3ff3), 0x4200000000003ff3u);
  // A hash may have more bits than there is room for.
  EXPECT_EQ(BulkRequest(BulkTest::kAvpn, 0xfedcba9876543210), 0x42dcba9876543210u);
  EXPECT_EQ(kBulkEnd, 0xc000000000000000u);
}

TEST(BulkSpecifier, FieldsOfARequest) {
  EXPECT_EQ(TypeOf(0x4000000000000000), BulkType::kRequest);
  EXPECT_EQ(TypeOf(0x3fffffffffffffff), BulkType::kUnused);
  EXPECT_EQ(TypeOf(0x8000000000000000), BulkType::kResponse);
  EXPECT_EQ(TypeOf(kBulkEnd), BulkType::kEnd);
  EXPECT_EQ(TestOf(0xfdffffffffffffff), BulkTest::kAndCond);
  EXPECT_EQ(TestOf(0x0200000000000000), BulkTest::kAvpn);
  EXPECT_EQ(TargetOf(0x42dcba9876543210), 0xdcba9876543210u);
}

TEST(BulkSpecifier, Responses) {
  EXPECT_EQ(Respond(0x7e00000000003ff3, BulkCode::kSuccess), 0x8200000000003ff3u);
  EXPECT_EQ(Respond(0x41ffffffffffffff, BulkCode::kNotFound), 0x91ffffffffffffffu);
  EXPECT_EQ(Respond(0x0300000000000000, BulkCode::kParameter), 0xa300000000000000u);
  EXPECT_EQ(BulkReferenceChange(0x100), 0x0800000000000000u);
  EXPECT_EQ(BulkReferenceChange(0x80), 0x0400000000000000u);
  EXPECT_EQ(BulkReferenceChangeOfQemu(0xfffffffffffff180), 0x000c000000000000u);
}

}  // namespace
}  // namespace papr::hcall

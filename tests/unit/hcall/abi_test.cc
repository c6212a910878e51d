#include "hcall/abi.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace papr::hcall {
namespace {

TEST(Abi, EveryServedOpcodeHasANameThatLeadsBack) {
  std::set<std::string_view> names;
  for (const Opcode opcode : kServedOpcodes) {
    const std::string_view name = OpcodeName(opcode);
    EXPECT_TRUE(name.starts_with("H_")) << opcode;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(OpcodeByName(name), static_cast<uint64_t>(opcode));
    EXPECT_EQ(opcode % 4, 0u);
  }
}

TEST(Abi, Opcodes) {
  EXPECT_EQ(OpcodeName(0x04), "H_REMOVE");
  EXPECT_EQ(OpcodeName(0x08), "H_ENTER");
  EXPECT_EQ(OpcodeName(0x0c), "H_READ");
  EXPECT_EQ(OpcodeName(0x10), "H_CLEAR_MOD");
  EXPECT_EQ(OpcodeName(0x14), "H_CLEAR_REF");
  EXPECT_EQ(OpcodeName(0x18), "H_PROTECT");
  EXPECT_EQ(OpcodeName(0x2c), "H_PAGE_INIT");
  EXPECT_EQ(OpcodeName(0x124), "H_BULK_REMOVE");
  EXPECT_EQ(OpcodeName(0x328), "H_BLOCK_REMOVE");
  EXPECT_EQ(OpcodeName(0x358), "H_CLEAR_HPT");
  EXPECT_EQ(OpcodeName(0x36c), "H_RESIZE_HPT_PREPARE");
  EXPECT_EQ(OpcodeName(0x370), "H_RESIZE_HPT_COMMIT");
  EXPECT_EQ(OpcodeName(0xf900), "H_HASH_REMOVE");
  EXPECT_EQ(OpcodeName(0xf904), "H_HASH_PROTECT");
  EXPECT_EQ(OpcodeName(0xf908), "H_HASH_BULK_REMOVE");
  for (const uint64_t unknown : {0x0ul, 0x05ul, 0x24ul, 0xfffffffffffffffful}) {
    EXPECT_TRUE(OpcodeName(unknown).empty()) << unknown;
  }
}

TEST(Abi, OpcodeByNameTakesShortAndLowerCaseForms) {
  for (const char* name : {"H_ENTER", "h_enter", "enter", "Enter"}) {
    EXPECT_EQ(OpcodeByName(name), 0x08u) << name;
  }
  for (const char* name : {"", "h_", "H_NOTHING", "H__ENTER", "H_ENTER ", "0x08"}) {
    EXPECT_EQ(OpcodeByName(name), std::nullopt) << name;
  }
}

TEST(Abi, ReturnCodes) {
  struct ReturnCodeCase {
    ReturnCode code;
    int64_t number;
    const char* name;
  };
  const ReturnCodeCase kCodes[] = {
      {kHSuccess, 0, "H_SUCCESS"},
      {kHBusy, 1, "H_BUSY"},
      {kHClosed, 2, "H_CLOSED"},
      {kHNotAvailable, 3, "H_NOT_AVAILABLE"},
      {kHConstrained, 4, "H_CONSTRAINED"},
      {kHPartial, 5, "H_PARTIAL"},
      {kHInProgress, 14, "H_IN_PROGRESS"},
      {kHPageRegistered, 15, "H_PAGE_REGISTERED"},
      {kHPartialStore, 16, "H_PARTIAL_STORE"},
      {kHPending, 17, "H_PENDING"},
      {kHContinue, 18, "H_CONTINUE"},
      {kHLongBusyOrder1Msec, 9900, "H_LONG_BUSY_ORDER_1_MSEC"},
      {kHLongBusyOrder10Msec, 9901, "H_LONG_BUSY_ORDER_10_MSEC"},
      {kHLongBusyOrder100Msec, 9902, "H_LONG_BUSY_ORDER_100_MSEC"},
      {kHLongBusyOrder1Sec, 9903, "H_LONG_BUSY_ORDER_1_SEC"},
      {kHLongBusyOrder10Sec, 9904, "H_LONG_BUSY_ORDER_10_SEC"},
      {kHLongBusyOrder100Sec, 9905, "H_LONG_BUSY_ORDER_100_SEC"},
      {kHHardware, -1, "H_HARDWARE"},
      {kHFunction, -2, "H_FUNCTION"},
      {kHPrivilege, -3, "H_PRIVILEGE"},
      {kHParameter, -4, "H_PARAMETER"},
      {kHPtegFull, -6, "H_PTEG_FULL"},
      {kHNotFound, -7, "H_NOT_FOUND"},
      {kHNoMem, -9, "H_NO_MEM"},
      {kHAuthority, -10, "H_AUTHORITY"},
      {kHPermission, -11, "H_PERMISSION"},
      {kHResource, -16, "H_RESOURCE"},
      {kHRescinded, -46, "H_RESCINDED"},
      {kHAborted, -54, "H_ABORTED"},
      {kHP2, -55, "H_P2"},
      {kHP3, -56, "H_P3"},
      {kHP4, -57, "H_P4"},
      {kHP5, -58, "H_P5"},
      {kHTooBig, -64, "H_TOO_BIG"},
  };
  for (const auto& [code, number, name] : kCodes) {
    EXPECT_EQ(code, number) << name;
    EXPECT_EQ(ReturnCodeName(number), name);
  }
  EXPECT_EQ(ReturnCodeName(-5), "-5");
  EXPECT_EQ(ReturnCodeName(123456), "123456");
}

TEST(Abi, LongBusyCodes) {
  for (int64_t code = 9900; code <= 9905; ++code) EXPECT_TRUE(IsLongBusy(code));
  for (const int64_t code : {0, 1, 9899, 9906, -1}) EXPECT_FALSE(IsLongBusy(code));
}

TEST(Abi, FlagsDoNotOverlap) {
  const uint64_t kFlags[] = {
      kFlagCookie, kFlagExact,    kFlagRXlate,           kFlagRead4,    kFlagCmo,
      kFlagAvpn,   kFlagAndCond,  kFlagICacheInvalidate, kFlagCoalesce, kFlagICacheSynchronize,
      kFlagMui,    kFlagZeroPage, kFlagCopyPage,         kFlagKeyHigh,  kFlagKeyLow,
      kFlagPp0,    kFlagPp,       kFlagNoExecute};
  uint64_t seen = 0;
  for (const uint64_t flag : kFlags) {
    EXPECT_EQ(seen & flag, 0u) << flag;
    seen |= flag;
  }
}

}  // namespace
}  // namespace papr::hcall

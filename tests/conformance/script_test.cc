#include "tests/conformance/script.h"

#include <string>

#include "client/machine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/script_expression.h"
#include "tests/conformance/script_runner.h"

namespace papr::conformance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kExample[] = R"(
fixture order=18,ram=0:1G
let E1_V = 0x1f81
kvm-hv:   let SW = 0
qemu-tcg: let SW = 0x40                 # a software bit

case 16.2: the ninth finds none
  for I in 0..7
    H_ENTER flags=0 ptex=0x3ff5 v=E1_V r=0xfff012
      -> H_SUCCESS r4=0x3ff0+I
  end
  H_ENTER 0 0x3ff5 E1_V 0xfff012
    -> H_PTEG_FULL|-4 rest=same
  touch 0x3ff0 RC
  expect entry 0x3ff0 E1_V+SW 0xfff192
  expect valid 8

case one profile only
  profiles qemu-tcg
  H_CLEAR_REF 0 0
    -> H_FUNCTION
)";

TEST(ScriptExpression, SumsProductsAndNames) {
  Names names = PredefinedNames();
  names["PTEX"] = 0x10;
  EXPECT_EQ(Evaluate("12", names).value(), 12u);
  EXPECT_EQ(Evaluate("0xffffffffffffffff", names).value(), ~uint64_t{0});
  EXPECT_EQ(Evaluate("PTEX+8*2+1", names).value(), 0x21u);
  EXPECT_EQ(Evaluate("EXACT+AVPN", names).value(), 0x8080000000u);
  for (const char* bad : {"", "UNKNOWN", "1+", "0x", "1-2", "-1", "0x10000000000000000"}) {
    EXPECT_FALSE(Evaluate(bad, names).ok()) << bad;
  }
}

TEST(ScriptExpression, ReturnCodesByNameAndNumber) {
  EXPECT_EQ(ParseReturnCode("H_SUCCESS").value(), 0);
  EXPECT_EQ(ParseReturnCode("H_PTEG_FULL").value(), -6);
  EXPECT_EQ(ParseReturnCode("H_LONG_BUSY_ORDER_100_MSEC").value(), 9902);
  EXPECT_EQ(ParseReturnCode("-7").value(), -7);
  EXPECT_FALSE(ParseReturnCode("H_NO_SUCH_CODE").ok());
}

TEST(Script, ParsesTheExample) {
  const auto cases = ParseScript(kExample, "kvm-hv");
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_THAT(*cases, SizeIs(1));
  const Case& only = cases->front();
  EXPECT_EQ(only.name, "16.2: the ninth finds none");
  EXPECT_EQ(only.line, 7);
  EXPECT_EQ(only.config.order, 18);
  EXPECT_EQ(only.config.profile, hcall::Profile::kKvmHv);
  ASSERT_THAT(only.steps, SizeIs(12));  // eight enters, one more, touch, two expectations
  EXPECT_THAT(only.steps[7].text, HasSubstr("[I=0x7]"));
  const auto& ninth = std::get<CallStep>(only.steps[8].action);
  EXPECT_EQ(ninth.request.opcode, hcall::kHEnter);
  EXPECT_EQ(ninth.request.registers[2], 0x1f81u);
  ASSERT_THAT(ninth.expectations, SizeIs(1));
  EXPECT_THAT(ninth.expectations[0].return_codes, ElementsAre(-6, -4));
  EXPECT_TRUE(ninth.expectations[0].rest_same);
  EXPECT_EQ(std::get<ExpectEntryStep>(only.steps[10].action).hpte, (mmu::Hpte{0x1f81, 0xfff192}));
}

TEST(Script, LinesOfAnotherProfileAreGone) {
  const auto cases = ParseScript(kExample, "qemu-tcg");
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_THAT(*cases, SizeIs(2));
  EXPECT_EQ(std::get<ExpectEntryStep>(cases->front().steps[10].action).hpte.v, 0x1fc1u);
  EXPECT_EQ(cases->back().config.profile, hcall::Profile::kQemuTcg);
}

TEST(Script, MalformedLinesAreNamed) {
  const struct {
    const char* text;
    const char* message;
  } kBad[] = {
      {"H_READ 0 0", "line 1: 'H_READ' outside a case"},
      {"case a\n H_NOTHING 0", "line 2: 'H_NOTHING' is no step and no hcall"},
      {"case a\n H_READ 0 0", "line 2: hcall without '->' for profile kvm-hv"},
      {"case a\n H_READ 0 0\n qemu-tcg: -> 0", "line 2: hcall without '->'"},
      {"case a\n H_READ flags=0 index=1\n -> 0", "line 2: no argument 'index=1'"},
      {"case a\n H_READ 0 X\n -> 0", "line 2: 'X' is no number and no name"},
      {"case a\n H_READ 0 0 0 0 0 0 0 0 0 0\n -> 0", "line 2: no argument '0'"},
      {"case a\n -> 0", "line 2: '->' does not follow an hcall"},
      {"case a\n H_READ 0 0\n ->", "line 3: '->' without a return code"},
      {"case a\n H_READ 0 0\n -> 0 r13=1", "line 3: no register 'r13=1'"},
      {"case a\n for I in 0..3\n reset", "line 2: 'for' without 'end'"},
      {"case a\n for I 0..3\n end", "line 2: expected: for NAME"},
      {"case a\n for I in 3..0\n end", "line 2: '3..0' is no range"},
      {"for I in 0..3\n case a\n reset\n end", "line 2: a case inside a loop"},
      {"case a\n touch 0 X", "line 2: expected: touch"},
      {"case a\n expect entry 0 0", "line 2: 'expect' takes other arguments"},
      {"case a\n expect nothing", "line 2: expected: expect entry"},
      {"case a\n finish 20", "line 2: expected: finish"},
      {"case a\n", "line 1: a case without steps"},
      {"case\n reset", "line 1: a case needs a name"},
      {"profiles power", "line 1: no profile 'power'"},
      {"let X 1", "line 1: expected: let NAME = VALUE"},
      {"fixture order=17\ncase a\n reset", "line 2: order"},
  };
  for (const auto& [text, message] : kBad) {
    const auto cases = ParseScript(text, "kvm-hv");
    ASSERT_FALSE(cases.ok()) << text;
    EXPECT_THAT(std::string(cases.status().message()), HasSubstr(message));
  }
}

TEST(ScriptRunner, AGoodCaseHasNoFailures) {
  for (const char* profile : {"kvm-hv", "qemu-tcg"}) {
    const auto cases = ParseScript(kExample, profile);
    ASSERT_TRUE(cases.ok()) << cases.status();
    for (const Case& each : *cases) {
      const auto machine = client::CreateMachine("local", "script-test", each.config);
      ASSERT_TRUE(machine.ok()) << machine.status();
      EXPECT_THAT(RunCase(each, **machine), IsEmpty());
    }
  }
}

TEST(ScriptRunner, FailuresNameTheLineAndDecodeWhatCame) {
  const auto cases = ParseScript(R"(case wrong on purpose
  H_ENTER 0 0 0x1f81 0xfff012
    -> H_PTEG_FULL r4=7
  expect entry 0 0x1f91 0xfff192
  expect valid 2
  expect order 20
  touch 1 R
  expect valid 3
)",
                                 "kvm-hv");
  ASSERT_TRUE(cases.ok()) << cases.status();
  const auto machine = client::CreateMachine("local", "script-test", cases->front().config);
  ASSERT_TRUE(machine.ok()) << machine.status();
  const std::vector<Failure> failures = RunCase(cases->front(), **machine);
  ASSERT_THAT(failures, SizeIs(7));  // the last step is not reached
  EXPECT_EQ(failures[0].line, 3);
  EXPECT_THAT(failures[0].message, HasSubstr("expected H_PTEG_FULL (-6), got H_SUCCESS (0)"));
  EXPECT_THAT(failures[1].message, HasSubstr("expected r4 0x7, got 0x0"));
  EXPECT_EQ(failures[2].line, 4);
  EXPECT_THAT(failures[2].message,
              HasSubstr("expected V 0x1f91 (256M avpn 0x1f80 bolted valid), got 0x1f81"));
  EXPECT_THAT(failures[3].message, HasSubstr("wimg 0x10 R C), got 0xfff012"));
  EXPECT_THAT(failures[4].message, HasSubstr("expected 2 valid entries, got 1"));
  EXPECT_THAT(failures[5].message, HasSubstr("expected order 20, got 24"));
  EXPECT_EQ(failures[6].line, 7);
  EXPECT_THAT(failures[6].message, HasSubstr("could not be run"));
}

}  // namespace
}  // namespace papr::conformance

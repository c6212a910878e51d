#include <string>

#include "client/conformance/expression.h"
#include "client/conformance/runner.h"
#include "client/conformance/script.h"
#include "client/machine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

// The cases of a script that must be good.
std::vector<Case> Cases(std::string_view text, Column column) {
  absl::StatusOr<Script> script = ParseScript(text, column);
  EXPECT_TRUE(script.ok()) << script.status();
  return script.ok() ? script->cases : std::vector<Case>{};
}

CaseReport RunLocally(const Case& test_case) {
  return RunCase(test_case,
                 [](const Case& each) { return client::CreateMachine("local", "t", each.config); });
}

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
  const std::vector<Case> cases = Cases(kExample, Column::kKvmHv);
  ASSERT_THAT(cases, SizeIs(1));
  const Case& only = cases.front();
  EXPECT_EQ(only.spec, "order=18,ram=0:1G,profile=kvm-hv");
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
  const std::vector<Case> cases = Cases(kExample, Column::kQemuTcg);
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(std::get<ExpectEntryStep>(cases.front().steps[10].action).hpte.v, 0x1fc1u);
  EXPECT_EQ(cases.back().config.profile, hcall::Profile::kQemuTcg);
}

constexpr char kColumnsExample[] = R"(
defect qemu-odd QEMU answers oddly
case columns
  H_READ 0 0
    papr,kvm-hv: -> H_SUCCESS
    qemu-tcg:    -> H_PARAMETER
    papr:        -> any
    qemu:        -> H_FUNCTION r4=1 defect=qemu-odd
    kvm:         -> crash
)";

std::vector<Expectation> ColumnExpectations(Column column) {
  const std::vector<Case> cases = Cases(kColumnsExample, column);
  if (cases.size() != 1) return {};
  return std::get<CallStep>(cases[0].steps[0].action).expectations;
}

TEST(Script, AnImplementationHasItsProfilesResultsUnlessItHasItsOwn) {
  EXPECT_THAT(ColumnExpectations(Column::kPapr), SizeIs(2));
  EXPECT_TRUE(ColumnExpectations(Column::kPapr)[1].any);
  EXPECT_THAT(ColumnExpectations(Column::kKvmHv), SizeIs(1));
  EXPECT_THAT(ColumnExpectations(Column::kQemuTcg)[0].return_codes, ElementsAre(-4));
  ASSERT_THAT(ColumnExpectations(Column::kQemu), SizeIs(1));
  EXPECT_THAT(ColumnExpectations(Column::kQemu)[0].return_codes, ElementsAre(-2));
  EXPECT_EQ(ColumnExpectations(Column::kQemu)[0].defect, "qemu-odd");
  ASSERT_THAT(ColumnExpectations(Column::kKvm), SizeIs(1));
  EXPECT_TRUE(ColumnExpectations(Column::kKvm)[0].crash);
  EXPECT_THAT(Cases(kExample, Column::kQemu), SizeIs(2));
}

TEST(Script, ACaseMayBeWithoutAnImplementation) {
  constexpr char kText[] = "case a\n without kvm\n H_READ 0 0\n -> 0 rest=same\n";
  EXPECT_THAT(Cases(kText, Column::kKvm), IsEmpty());
  EXPECT_THAT(Cases("without kvm\ncase a\n reset\n", Column::kKvm), IsEmpty());
  EXPECT_THAT(Cases(kText, Column::kQemu), SizeIs(1));
  const std::vector<Case> kvm_hv = Cases(kText, Column::kKvmHv);
  ASSERT_THAT(kvm_hv, SizeIs(1));
  EXPECT_TRUE(std::get<CallStep>(kvm_hv[0].steps[0].action).expectations[0].rest_same);
  const std::vector<Case> papr = Cases(kText, Column::kPapr);
  ASSERT_THAT(papr, SizeIs(1));
  EXPECT_FALSE(std::get<CallStep>(papr[0].steps[0].action).expectations[0].rest_same);
}

TEST(Script, PagesNameTheWordsMadeOfTheirFields) {
  const std::vector<Case> cases = Cases(R"(
page E 1T 64K vsid=0x408a66 ea=0xc000000012345678 ra=0x12345678
page K 256M 64K/16M vsid=0x7fff ea=0x1000 ra=0x7000000 pp=6 key=25 wimg=7 N R C
case words
  assert E.avpn == 0x4000408a66001200
  assert E.hash == 0x14cc409852
  assert E.v == 0x4000408a66001205
  assert E.r == 0x12341012
  assert E.primary@26 == 0x4c290
  assert E.secondary@26 == 0x3b3d68
  assert K.r == 0xb0000000070083be+0
)",
                                        Column::kKvmHv);
  EXPECT_THAT(cases, SizeIs(1));
}

TEST(Script, MalformedLinesAreNamed) {
  const struct {
    const char* text;
    const char* message;
  } kBad[] = {
      {"H_READ 0 0", "line 1: 'H_READ' outside a case"},
      {"case a\n H_NOTHING 0", "line 2: 'H_NOTHING' is no step and no hcall"},
      {"case a\n H_READ 0 0", "line 2: hcall without '->' for kvm-hv"},
      {"case a\n H_READ 0 0\n qemu-tcg: -> 0", "line 2: hcall without '->'"},
      {"case a\n H_READ ptex=1 0 2\n -> 0", "line 2: '0' gives an argument again"},
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
      {"case a\n assert 1 == 2", "line 2: 1 is 0x1 and 2 is 0x2"},
      {"case a\n assert 1 2", "line 2: expected: assert"},
      {"case a\n H_READ 0 0\n -> any r4=0", "line 3: 'any' stands alone"},
      {"case a\n H_READ 0 0\n -> 0 defect=none", "line 3: no defect 'none' is declared"},
      {"case a\n expect valid 0 defect=none", "line 2: no defect 'none' is declared"},
      {"defect x", "line 1: expected, before the first case: defect NAME"},
      {"page A vsid=1 ea=0", "line 1: a page needs ra="},
      {"page A 3K vsid=1 ea=0 ra=0", "line 1: '3K' is no page size"},
      {"page A 16M/4K vsid=1 ea=0 ra=0", "line 1: no processor has pages of these sizes"},
      {"page A vsid=1 ea=0 ra=0 pp=8", "line 1: 'pp=8' is too large"},
      {"page A vsid=1 ea=0 ra=0 x=8", "line 1: a page has no field 'x=8'"},
      {"power: let X = 1", "line 1: 'power:' outside a case"},
      {"case a\n without kvm-hv", "line 2: no implementation 'kvm-hv'"},
      {"case a\n H_READ 0 0\n -> 0 r4=1 r4=2", "line 3: 'r4=2' names a register again"},
      {"defect d x\ncase a\n H_READ 0 0\n -> any defect=d", "line 4: 'any' stands alone"},
      {"case a\n H_READ 0 0\n -> 0 defect=", "line 3: 'defect=' without a name"},
      {"case a\n expect order 0x100000012", "line 2: 0x100000012 is no order"},
      {"case a\n finish 0x100000012 0", "line 2: 0x100000012 is no order"},
      {"let 99 = 0", "line 1: '99' is no name"},
      {"let VALID = 0", "line 1: 'VALID' means something already"},
      {"page A.b vsid=1 ea=0 ra=0", "line 1: 'A.b' is no name"},
      {"page A vsid=1 vsid=2 ea=0 ra=0", "line 1: 'vsid=2' gives a field again"},
      {"page A 4K 64K vsid=1 ea=0 ra=0", "line 1: '64K' gives a field again"},
      {"page A 1T 256M vsid=1 ea=0 ra=0", "line 1: '256M' gives a field again"},
      {"defect d x\ndefect d y\n", "line 2: the defect 'd' is declared already"},
      {"case a\n expect valid 0\ncase a\n", "line 3: another case is named 'a'"},
      {"case a\n expect valid 0\n profiles papr", "line 3: 'profiles' after the first step"},
      {"case a\n expect valid 0\n fixture order=18", "line 3: 'fixture' after the first step"},
      {"case a\n expect valid 0\n without kvm", "line 3: 'without' after the first step"},
      {"case a\n profiles", "line 2: expected: profiles"},
      {"case a\n without", "line 2: expected: without"},
      {"case a\n kvm-hv:\n reset", "line 2: nothing stands after the columns"},
      {"papr: case a\n reset", "line 1: 'case' is for all columns"},
      {"case a\n papr: for I in 0\n end", "line 2: 'for' is for all columns"},
      {"case a\n papr: H_READ 0 0\n kvm-hv: -> 0", "line 3: a result in a column that does not"},
      {"case a\n reset", "line 1: a case in which nothing is expected, for kvm-hv"},
      {"case a\n H_READ 0 0\n -> any", "line 1: a case in which nothing is expected"},
      {"fixture name=x\ncase a\n expect valid 0", "line 2: a fixture has no name"},
      {"# a\rcase b", "line 1: a carriage return inside the line"},
      {"fixture order=18", "no case in it"},
      {"", "no case in it"},
      {"fixture order=17\ncase a\n expect valid 0", "line 2: order"},
  };
  for (const auto& [text, message] : kBad) {
    const auto script = ParseScript(text, Column::kKvmHv);
    ASSERT_FALSE(script.ok()) << text;
    EXPECT_THAT(std::string(script.status().message()), HasSubstr(message));
  }
}

TEST(Script, AnExpectOfAnImplementationOnlyIsRefused) {
  const auto script = ParseScript("case a\n qemu: expect valid 0", Column::kQemu);
  EXPECT_THAT(std::string(script.status().message()), HasSubstr("line 2: an 'expect' of"));
}

TEST(Script, AResultExistsWhereItsCallDoes) {
  constexpr char kText[] =
      "case a\n H_READ 0 0\n -> 0\n papr: H_READ 0 99999999\n -> H_PARAMETER\n";
  EXPECT_THAT(Cases(kText, Column::kPapr)[0].steps, SizeIs(2));
  const std::vector<Case> cases = Cases(kText, Column::kKvmHv);
  ASSERT_THAT(cases[0].steps, SizeIs(1));
  EXPECT_THAT(std::get<CallStep>(cases[0].steps[0].action).expectations, SizeIs(1));
}

TEST(Script, ALoopOfACaseThatIsNotHereIsPassedOver) {
  EXPECT_THAT(
      Cases("case a\n profiles papr\n let A = 3\n for I in 0..A\n H_READ 0 I\n -> 0\n end\n",
            Column::kKvmHv),
      IsEmpty());
}

TEST(Script, LoopsHaveLimits) {
  std::string nested = "case a\n";
  for (int i = 0; i < 20000; ++i) nested += "for I in 0\n";
  for (int i = 0; i < 20000; ++i) nested += "end\n";
  EXPECT_THAT(std::string(ParseScript(nested, Column::kKvmHv).status().message()),
              HasSubstr("line 18: loops nest deeper than 16"));
  const auto many =
      ParseScript("case a\nfor I in 0..0xffff\nfor J in 0..0xffff\nend\nend\n", Column::kKvmHv);
  EXPECT_THAT(std::string(many.status().message()), HasSubstr("more than 1000000 lines"));
}

TEST(ScriptRunner, AGoodCaseHasNoFailures) {
  for (const Column profile : {Column::kKvmHv, Column::kQemuTcg}) {
    for (const Case& each : Cases(kExample, profile)) {
      EXPECT_THAT(RunLocally(each).failures, IsEmpty());
    }
  }
}

TEST(ScriptRunner, AKnownDefectThatShowsIsCountedAndOneThatDoesNotIsAFailure) {
  const std::vector<Case> cases = Cases(R"(
defect a the first
defect b the second
case both
  fixture order=18
  H_READ 0 0x4000
    -> H_PARAMETER defect=a
  H_READ 0 0
    -> H_PARAMETER defect=b
  expect valid 0 defect=a
)",
                                        Column::kKvmHv);
  ASSERT_THAT(cases, SizeIs(1));
  const CaseReport report = RunLocally(cases[0]);
  EXPECT_THAT(report.defects, ElementsAre(testing::Pair("a", 2)));
  ASSERT_THAT(report.failures, SizeIs(1));
  EXPECT_THAT(report.failures[0].message, HasSubstr("the known defect b does not show"));
}

// A machine whose hcalls end in an error.
class BrokenMachine : public client::Machine, public client::Hypervisor {
 public:
  explicit BrokenMachine(absl::Status status) : status_(std::move(status)) {}

  std::string_view target() const override { return "broken"; }
  std::unique_ptr<client::Hypervisor> MakeHypervisor() override {
    return std::make_unique<BrokenMachine>(status_);
  }
  absl::Status Reset(std::optional<int> /*order*/) override { return status_; }
  absl::Status SetReferenceChange(std::span<const hcall::ReferenceChange> /*updates*/) override {
    return status_;
  }
  absl::Status FinishResizePreparation(int /*order*/, int64_t /*return_code*/) override {
    return status_;
  }
  absl::StatusOr<hcall::HptStatistics> GetStatistics() override { return status_; }
  absl::StatusOr<mmu::TableCheckReport> Check(size_t /*max_findings*/) override { return status_; }
  absl::StatusOr<hcall::DeviceTree> GetDeviceTree() override { return status_; }
  absl::StatusOr<hcall::HcallResult> Hcall(const hcall::HcallRequest& /*request*/) override {
    return status_;
  }
  absl::Status HcallBatch(std::span<const hcall::HcallRequest> /*requests*/,
                          hcall::BatchMode /*mode*/,
                          std::vector<hcall::HcallResult>* /*results*/) override {
    return status_;
  }
  uint64_t round_trips() const override { return 0; }

 private:
  absl::Status status_;
};

CaseReport RunBroken(std::string_view script, const absl::Status& status) {
  return RunCase(Cases(script, Column::kQemu).front(),
                 [&](const Case&) -> absl::StatusOr<std::unique_ptr<client::Machine>> {
                   return std::make_unique<BrokenMachine>(status);
                 });
}

TEST(ScriptRunner, ACrashIsAFailureUnlessItIsKnown) {
  constexpr char kKnown[] =
      "defect a dies\ncase a\n H_READ 0 0\n -> 0\n qemu: -> crash defect=a\n reset\n";
  const CaseReport known = RunBroken(kKnown, absl::AbortedError("assertion"));
  EXPECT_THAT(known.failures, IsEmpty());
  EXPECT_THAT(known.defects, ElementsAre(testing::Pair("a", 1)));
  ASSERT_THAT(known.answers, SizeIs(1));
  EXPECT_TRUE(known.answers[0].crashed);
  const CaseReport unknown =
      RunBroken("case a\n H_READ 0 0\n -> 0\n", absl::AbortedError("assertion"));
  ASSERT_THAT(unknown.failures, SizeIs(1));
  EXPECT_THAT(unknown.failures[0].message, HasSubstr("crashed: assertion"));
}

TEST(ScriptRunner, WhatAMachineCannotDoIsSkippedAndToldWhy) {
  const CaseReport report =
      RunBroken("case a\n H_READ 0 0\n -> 0\n", absl::UnimplementedError("no such thing"));
  EXPECT_THAT(report.failures, IsEmpty());
  EXPECT_EQ(report.skipped, "no such thing");
  EXPECT_THAT(RunBroken("case a\n expect valid 0\n", absl::InternalError("broken")).failures,
              SizeIs(1));
}

TEST(ScriptRunner, FailuresNameTheLineAndDecodeWhatCame) {
  const std::vector<Case> cases = Cases(R"(case wrong on purpose
  H_ENTER 0 0 0x1f81 0xfff012
    -> H_PTEG_FULL r4=7
  expect entry 0 0x1f91 0xfff192
  expect valid 2
  expect order 20
  touch 1 R
  expect valid 3
)",
                                        Column::kKvmHv);
  ASSERT_THAT(cases, SizeIs(1));
  const std::vector<Failure> failures = RunLocally(cases.front()).failures;
  ASSERT_THAT(failures, SizeIs(7));  // the last step is not reached
  EXPECT_EQ(failures[0].line, 3);
  EXPECT_THAT(failures[0].message, HasSubstr("expected H_PTEG_FULL (-6), got H_SUCCESS (0)"));
  EXPECT_THAT(failures[1].message,
              HasSubstr("expected r4 0x7, got 0x0 [H_ENTER v=0x1f81 r=0xfff012]"));
  EXPECT_EQ(failures[2].line, 4);
  EXPECT_THAT(failures[2].message,
              HasSubstr("expected V 0x1f91 (256M avpn 0x1f80 bolted valid), got 0x1f81"));
  EXPECT_THAT(failures[3].message, HasSubstr("wimg 2 R C), got 0xfff012"));
  EXPECT_THAT(failures[4].message, HasSubstr("expected 2 valid entries, got 1"));
  EXPECT_THAT(failures[5].message, HasSubstr("expected 20 as the order, got 24"));
  EXPECT_EQ(failures[6].line, 7);
  EXPECT_THAT(failures[6].message, HasSubstr("could not be run"));
}

}  // namespace
}  // namespace papr::conformance

// Which differences get a row of the table, and what is in it.

#include "tests/conformance/differences/difference_table.h"

#include <string>

#include "client/machine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/differences/run_record.h"

namespace papr::conformance {
namespace {

using testing::HasSubstr;
using testing::Not;

RunRecord RunLocally(const std::vector<ScriptFile>& files, Column column) {
  const auto report = RunSuite(
      files, column,
      [](const Case& each) { return client::CreateMachine("local", "t", each.config); }, {});
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? RecordOf(*report, "here") : RunRecord{};
}

// The table of one script, with hptd in the place of QEMU.
absl::StatusOr<std::string> TableOf(const std::string& text) {
  const std::vector<ScriptFile> files = {{"x.hcalls", text}};
  const RunRecord qemu = RunLocally(files, Column::kQemuTcg);
  return DifferencesDocument(files, {RunLocally(files, Column::kKvmHv), qemu, qemu});
}

TEST(DifferenceTable, ADisagreementIsARowAndAgreementIsNone) {
  const auto table = TableOf(
      "fixture order=18\n"
      "case they agree\n"
      "  H_READ 0 0x4000\n    -> H_PARAMETER\n"
      "case they do not\n"
      "  H_READ 0 0x4000\n    -> H_PARAMETER\n"
      "  H_ENTER EXACT 0 0x8000000000000001 0x12\n"
      "    papr:     -> any\n"
      "    kvm-hv:   -> H_PARAMETER\n"
      "    qemu-tcg: -> H_SUCCESS r4=0\n"
      "case the standard leaves it open\n"
      "  H_READ 0 0x4000\n    papr: -> any\n    kvm-hv,qemu-tcg: -> H_PARAMETER\n"
      "case the standard allows two answers\n"
      "  H_READ 0 0x4000\n    papr: -> H_BUSY|H_PARAMETER\n    kvm-hv,qemu-tcg: -> H_PARAMETER\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(
      *table,
      HasSubstr("| they do not | `H_ENTER flags=0x8000000000 v=0x8000000000000001 r=0x12` | open | "
                "H_PARAMETER | H_SUCCESS r4=0x0 | H_PARAMETER | H_SUCCESS r4=0x0 | "
                "`x.hcalls` |\n"));
  for (const char* no_row : {"| they agree", "| the standard"}) {
    EXPECT_THAT(*table, Not(HasSubstr(no_row)));
  }
}

TEST(DifferenceTable, TheSoftwareBitIsARowOnlyWhereItIsThePoint) {
  const auto table = TableOf(
      "fixture order=18\n"
      "defect qemu-bit it shows\n"
      "case by the way\n"
      "  H_ENTER EXACT 0 1 0x12\n    -> H_SUCCESS\n"
      "  papr,kvm-hv: expect entry 0 1 0x12\n"
      "  qemu-tcg:    expect entry 0 0x41 0x12\n"
      "case the point\n"
      "  H_ENTER EXACT 0 1 0x12\n    -> H_SUCCESS\n"
      "  papr,kvm-hv: expect entry 0 1 0x12\n"
      "  qemu-tcg:    expect entry 0 0x41 0x12 defect=qemu-bit\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(*table, Not(HasSubstr("| by the way")));
  EXPECT_THAT(*table, HasSubstr("| the point | `entry 0x0` | V=0x1 R=0x12 | V=0x1 R=0x12 | "
                                "V=0x41 R=0x12 | V=0x1 R=0x12 | V=0x41 R=0x12 |"));
  EXPECT_THAT(*table, HasSubstr("| `qemu-bit` | it shows | 1 | 1 |"));
}

TEST(DifferenceTable, CasesAlikeShareARow) {
  std::string text = "fixture order=18\n";
  for (const char* name : {"one", "two", "three"}) {
    text += std::string("case ") + name +
            "\n  H_CLEAR_REF 0 0\n    papr,kvm-hv: -> H_NOT_FOUND\n    qemu-tcg: -> H_FUNCTION\n";
  }
  const auto table = TableOf(text);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(*table,
              HasSubstr("| one (and 2 further cases with the same answers) | `H_CLEAR_REF` |"));
  EXPECT_THAT(*table, Not(HasSubstr("| two")));
}

TEST(DifferenceTable, PointsComeFirstByNumber) {
  std::string text = "fixture order=18\n";
  for (const char* name : {"14 row 20: b", "no point", "hcalls 16.1, 14 row 3: a"}) {
    text += std::string("case ") + name +
            "\n  H_CLEAR_REF 0 0\n    papr,kvm-hv: -> H_NOT_FOUND\n    qemu-tcg: -> H_FUNCTION\n";
  }
  const auto table = TableOf(text);
  ASSERT_TRUE(table.ok()) << table.status();
  const size_t a = table->find("| hcalls 16.1, 14 row 3: a |");
  const size_t b = table->find("| 14 row 20: b |");
  const size_t other = table->find("| no point |");
  ASSERT_NE(other, std::string::npos);
  EXPECT_LT(a, b);
  EXPECT_LT(b, table->find("## Other cases"));
  EXPECT_LT(table->find("## Other cases"), other);
}

TEST(DifferenceTable, AnImplementationThatDoesNotHaveItDisagrees) {
  const auto table = TableOf(
      "fixture order=18\ncase a\n  without kvm\n  H_READ 0 0x4000\n    -> H_PARAMETER rest=same\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(*table, HasSubstr("| a | `H_READ ptex=0x4000` | H_PARAMETER | does not have it | "
                                "H_PARAMETER | H_PARAMETER | H_PARAMETER |"));
}

TEST(DifferenceTable, ARegisterThatOneChangesAndAnotherKeepsIsShown) {
  const auto table = TableOf(
      "fixture order=18\ncase a\n  H_BULK_REMOVE 1\n    papr: -> H_PARAMETER\n"
      "    kvm-hv: -> H_PARAMETER r4=0xa000000000000001\n    qemu-tcg: -> H_PARAMETER rest=same\n");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(*table,
              HasSubstr("| H_PARAMETER | H_PARAMETER r4=0xa000000000000001 | H_PARAMETER "
                        "r4=0x1 | H_PARAMETER r4=0xa000000000000001 | H_PARAMETER r4=0x1 |"));
}

TEST(DifferenceTable, WhatQemuCannotBeIsInParentheses) {
  const std::vector<ScriptFile> files = {
      {"x.hcalls",
       "case a\n  H_CLEAR_REF 0 0\n    papr,kvm-hv: -> H_NOT_FOUND\n    qemu-tcg: -> H_FUNCTION\n"
       "    qemu: -> crash\n"}};
  RunRecord qemu;
  qemu.skipped = {{"no such machine", 1}};
  const auto table = DifferencesDocument(
      files, {RunLocally(files, Column::kKvmHv), RunLocally(files, Column::kQemuTcg), qemu});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(*table,
              HasSubstr("| H_NOT_FOUND | H_NOT_FOUND | (crash) | H_NOT_FOUND | H_FUNCTION |"));
  EXPECT_THAT(*table, HasSubstr("- 1: no such machine\n"));
}

TEST(DifferenceTable, ARunThatFailedOrAFaultThatDoesNotShowMakesNone) {
  EXPECT_THAT(std::string(TableOf("case a\n  expect valid 1\n").status().message()),
              HasSubstr("1 cases failed"));
  EXPECT_THAT(
      std::string(
          TableOf("defect qemu-x it is odd\ncase a\n  expect valid 0\n").status().message()),
      HasSubstr("qemu-x showed in no answer"));
}

TEST(RunRecord, TakesWhatHptctlPrints) {
  const auto record = RecordOf(nlohmann::json::parse(R"({"target": "T", "runs": [{
      "passed": 1, "failed": 0, "defects": [{"name": "d", "answers": 2}], "cases": [{
        "file": "f", "line": 3, "answers": [
          {"line": 4, "step": "expect entry 0 1 2", "return_code": 0,
           "registers": ["0x1", "0x2", "0x3", "0x4", "0x5", "0x6", "0x7", "0x8", "0x9"]},
          {"line": 5, "step": "expect entry 0 7 8", "crashed": true}]},
        {"file": "f", "line": 9, "answers": [], "skipped": "why"}]}]})"));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->target, "T");
  EXPECT_EQ(record->defects.at("d"), 2);
  EXPECT_EQ(record->skipped.at("why"), 1);
  EXPECT_EQ(record->answers.at({"f", 3, {"expect entry 0", 0}}).result.registers[8], 9u);
  EXPECT_TRUE(record->answers.at({"f", 3, {"expect entry 0", 1}}).crashed);
  EXPECT_FALSE(RecordOf(nlohmann::json::parse("{}")).ok());
  EXPECT_FALSE(RecordOf(nlohmann::json()).ok());
}

}  // namespace
}  // namespace papr::conformance

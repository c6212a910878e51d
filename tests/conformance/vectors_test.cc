// Runs every script of tests/conformance/vectors in this process, each case in each of hptd's
// profiles as a test of its own.

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/conformance/runner.h"
#include "client/conformance/script.h"
#include "client/machine.h"
#include "gtest/gtest.h"

namespace papr::conformance {
namespace {

class VectorTest : public testing::Test {
 public:
  VectorTest(std::string file, Case test_case)
      : file_(std::move(file)), test_case_(std::move(test_case)) {}

  void TestBody() override {
    const CaseReport report = RunCase(test_case_, [](const Case& each) {
      return client::CreateMachine(client::kLocalTarget, "vector", each.config);
    });
    for (const Failure& failure : report.failures) {
      ADD_FAILURE_AT(file_.c_str(), failure.line) << failure.message;
    }
    EXPECT_EQ(report.skipped, std::nullopt);
    EXPECT_EQ(report.lost, absl::OkStatus());
  }

 private:
  const std::string file_;
  const Case test_case_;
};

// Columns that no test runs must be well-formed too: other implementations are held against them.
class ParseTest : public testing::Test {
 public:
  explicit ParseTest(std::string text) : text_(std::move(text)) {}

  void TestBody() override {
    for (const Column column : kColumns) {
      EXPECT_EQ(ParseScript(text_, column).status(), absl::OkStatus()) << ColumnName(column);
    }
  }

 private:
  const std::string text_;
};

// "hcalls 16.2: nine enters" -> "L012_hcalls_16_2_nine_enters_qemu_tcg": what GoogleTest allows,
// and different for each case of a file.
std::string TestName(const Case& test_case, const std::string& profile) {
  std::string name = absl::StrFormat("L%03d_", test_case.line);
  for (const char c : absl::StrCat(test_case.name, " ", profile)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += c;
    } else if (name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

// Registers the cases of one file; false if it is malformed.
bool RegisterFile(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  testing::RegisterTest(path.stem().c_str(), "parses_in_every_column", nullptr, nullptr,
                        path.c_str(), 1,
                        [all = text.str()]() -> testing::Test* { return new ParseTest(all); });
  for (const Column profile : {Column::kKvmHv, Column::kQemuTcg}) {
    absl::StatusOr<Script> script = ParseScript(text.str(), profile);
    if (!script.ok()) {
      std::cerr << path.string() << ": " << script.status().message() << "\n";
      return false;
    }
    for (const Case& each : script->cases) {
      const std::string name = TestName(each, std::string(ColumnName(profile)));
      testing::RegisterTest(
          path.stem().c_str(), name.c_str(), nullptr, nullptr, path.c_str(), each.line,
          [path, each]() -> testing::Test* { return new VectorTest(path.string(), each); });
    }
  }
  return true;
}

bool RegisterAll() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(TEST_DATA_DIR "/conformance/vectors")) {
    if (entry.path().extension() == ".hcalls") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  bool good = !paths.empty();
  for (const auto& path : paths) good = RegisterFile(path) && good;
  return good;
}

}  // namespace
}  // namespace papr::conformance

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!papr::conformance::RegisterAll()) return 2;
  return RUN_ALL_TESTS();
}

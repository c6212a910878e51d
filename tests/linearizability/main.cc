// main() of the programs here: GoogleTest, and the options of command_line.h.

#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"
#include "tests/linearizability/command_line.h"

namespace papr::linearizability {
namespace {

CommandLine options;

// Takes "--name=N" out of `argument`. False: it is something else or no number.
bool ParseNumber(std::string_view argument, std::string_view prefix, uint64_t* value) {
  if (!argument.starts_with(prefix)) return false;
  return absl::SimpleAtoi(std::string(argument.substr(prefix.size())), value);
}

bool Parse(int argc, char** argv) {
  options.seed = std::random_device{}();
  const char* environment = std::getenv("HPTD_SEED");
  if (environment != nullptr && !absl::SimpleAtoi(environment, &options.seed)) return false;
  for (int i = 1; i < argc; ++i) {
    if (!ParseNumber(argv[i], "--seed=", &options.seed) &&
        !ParseNumber(argv[i], "--histories=", &options.histories)) {
      return false;
    }
  }
  return true;
}

}  // namespace

const CommandLine& Options() { return options; }

uint64_t Histories(uint64_t usual) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  usual /= 6;
#endif
  return options.histories != 0 ? options.histories : usual;
}

}  // namespace papr::linearizability

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!papr::linearizability::Parse(argc, argv)) {
    std::cerr << "usage: " << argv[0] << " [--seed=N] [--histories=N]; or HPTD_SEED=N\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}

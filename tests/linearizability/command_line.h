// --seed=N (or HPTD_SEED) and --histories=N of the programs here.

#ifndef TESTS_LINEARIZABILITY_COMMAND_LINE_H_
#define TESTS_LINEARIZABILITY_COMMAND_LINE_H_

#include <cstdint>

namespace papr::linearizability {

struct CommandLine {
  uint64_t seed = 0;       // random if none is given
  uint64_t histories = 0;  // 0: as many as the test thinks right
};
// As the program was started; read once, before the tests run.
const CommandLine& Options();

// `histories` of Options(), or else the number that suits this build: a sixth of `usual` where a
// sanitizer makes everything slower.
uint64_t Histories(uint64_t usual);

}  // namespace papr::linearizability

#endif  // TESTS_LINEARIZABILITY_COMMAND_LINE_H_

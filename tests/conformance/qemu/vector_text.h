// A replayed sequence as a conformance vector: text that the vector runner takes
// (tests/conformance/vectors/README.md). Pure functions.

#ifndef TESTS_CONFORMANCE_QEMU_VECTOR_TEXT_H_
#define TESTS_CONFORMANCE_QEMU_VECTOR_TEXT_H_

#include <string>
#include <string_view>

#include "tests/conformance/qemu/differential_run.h"

namespace papr::conformance {

// `fixture` is the partition, as --partition takes it but for the profile. The reference's answers
// are what the vector expects; what differed is a comment behind them.
std::string VectorText(std::string_view fixture, std::string_view name, const ReplayResult& replay);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_VECTOR_TEXT_H_

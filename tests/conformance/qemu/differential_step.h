// What a differential run is made of: steps that two machines take one after the other. Pure
// functions.

#ifndef TESTS_CONFORMANCE_QEMU_DIFFERENTIAL_STEP_H_
#define TESTS_CONFORMANCE_QEMU_DIFFERENTIAL_STEP_H_

#include <variant>
#include <vector>

#include "hcall/abi.h"
#include "hcall/partition.h"
#include "hcall/partition_config.h"
#include "tests/model/reference_model.h"

namespace papr::conformance {

using DifferentialStep = std::variant<hcall::HcallRequest, hcall::ReferenceChange>;
using DifferentialSteps = std::vector<DifferentialStep>;

// Whether QEMU and hptd, both as `state` says, can be expected to do the same in `step`, and QEMU
// to survive it. Not: calls that are no business of the page table, H_PAGE_INIT on the guest
// program, a commit that QEMU ends in by an assertion, an access that would not go through the
// entry it is meant to.
bool IsComparable(const hcall::PartitionConfig& config, const model::ReferenceModel& state,
                  const DifferentialStep& step);

// The entries with which QEMU ends in a commit: it takes the actual for the base page size, and
// asserts that each bolted entry stands in its group, which it never finds a secondary one to do.
std::vector<uint64_t> EntriesThatEndQemu(const hcall::PartitionConfig& config,
                                         const model::ReferenceModel& state);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_DIFFERENTIAL_STEP_H_

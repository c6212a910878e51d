// From a sequence of steps that shows a fault to a short one that still does. For one thread.

#ifndef TESTS_CONFORMANCE_QEMU_SHRINK_H_
#define TESTS_CONFORMANCE_QEMU_SHRINK_H_

#include "absl/functional/function_ref.h"
#include "hcall/partition_config.h"
#include "tests/conformance/qemu/differential_run.h"
#include "tests/conformance/qemu/differential_step.h"

namespace papr::conformance {

// True if the steps show the fault.
using Fails = absl::FunctionRef<bool(const DifferentialSteps& steps)>;

// Leaves out runs of steps, shorter and shorter ones, while `steps`, for which `fails` must hold,
// go on failing: in the end no single step can be left out. Then turns registers to 0 likewise.
DifferentialSteps Shrink(DifferentialSteps steps, Fails fails);

// The same for steps in which two machines differ, made on new machines each time; where it can, an
// H_ENTER is first told the slot that it found, so that it does not need those that fill the slots
// before. Returns how the shortest sequence goes; one without a difference if `steps` have none.
ReplayResult ShortestDifference(const hcall::PartitionConfig& config, const MachinePair& machines,
                                const DifferentialSteps& steps);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_SHRINK_H_

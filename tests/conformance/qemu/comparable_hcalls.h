// Random steps for a differential run: those of RandomHcalls that can be compared, and what makes
// more of them comparable. Before a resize commits, the bolted entries that QEMU would end in are
// removed, and mostly those that make it fail; an update of R and C that no access would make is
// given to an entry where one does.
//
// The same seed, configuration and states give the same steps. One thread at a time.

#ifndef TESTS_CONFORMANCE_QEMU_COMPARABLE_HCALLS_H_
#define TESTS_CONFORMANCE_QEMU_COMPARABLE_HCALLS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "hcall/partition_config.h"
#include "tests/conformance/qemu/differential_step.h"
#include "tests/model/random_hcalls.h"

namespace papr::conformance {

class ComparableHcalls {
 public:
  ComparableHcalls(uint64_t seed, const hcall::PartitionConfig& config);

  // The next step for a partition that stands as `state` does; IsComparable() holds for it.
  DifferentialStep Next(const model::ReferenceModel& state);

 private:
  // What may be made of a step of RandomHcalls, or nothing.
  std::optional<DifferentialStep> Adapt(const model::ReferenceModel& state,
                                        const model::Step& step);
  std::optional<DifferentialStep> AdaptUpdate(const model::ReferenceModel& state,
                                              hcall::ReferenceChange update);
  void PlanRemovalsBefore(const model::ReferenceModel& state, const hcall::HcallRequest& commit);

  const hcall::PartitionConfig config_;
  model::RandomHcalls generator_;
  std::mt19937_64 rng_;
  std::deque<uint64_t> entered_;          // arguments of the last H_ENTERs
  std::deque<DifferentialStep> planned_;  // to come before anything else
};

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_COMPARABLE_HCALLS_H_

#include "tests/conformance/qemu/comparable_hcalls.h"

namespace papr::conformance {
namespace {

using hcall::HcallRequest;
using model::ReferenceModel;

constexpr size_t kEntersRemembered = 64;
constexpr int kAttempts = 16;

}  // namespace

ComparableHcalls::ComparableHcalls(uint64_t seed, const hcall::PartitionConfig& config)
    : config_(config), generator_(seed, config), rng_(seed) {}

DifferentialStep ComparableHcalls::Next(const ReferenceModel& state) {
  while (true) {
    std::optional<DifferentialStep> step;
    if (!planned_.empty()) {
      step = planned_.front();
      planned_.pop_front();
    } else {
      step = Adapt(state, generator_.Next(state));
    }
    if (step.has_value() && IsComparable(config_, state, *step)) return *step;
  }
}

std::optional<DifferentialStep> ComparableHcalls::Adapt(const ReferenceModel& state,
                                                        const model::Step& step) {
  if (const auto* update = std::get_if<hcall::ReferenceChange>(&step)) {
    return AdaptUpdate(state, *update);
  }
  const auto* request = std::get_if<HcallRequest>(&step);
  if (request == nullptr) return std::nullopt;  // preparations of a resize end by themselves
  if (request->opcode == hcall::kHEnter) {
    entered_.push_back(request->registers[1]);
    if (entered_.size() > kEntersRemembered) entered_.pop_front();
  }
  if (request->opcode == hcall::kHResizeHptCommit && !request->problem_state &&
      state.pending_order() == static_cast<int>(request->registers[1])) {
    PlanRemovalsBefore(state, *request);
    return std::nullopt;
  }
  return *request;
}

std::optional<DifferentialStep> ComparableHcalls::AdaptUpdate(const ReferenceModel& state,
                                                              hcall::ReferenceChange update) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (IsComparable(config_, state, update)) return update;
    if (entered_.empty()) return std::nullopt;
    update.ptex = entered_[rng_() % entered_.size()] ^ (rng_() % model::kSlots);
  }
  return std::nullopt;
}

void ComparableHcalls::PlanRemovalsBefore(const ReferenceModel& state, const HcallRequest& commit) {
  const auto plan = [&](uint64_t ptex) {
    planned_.emplace_back(HcallRequest{.opcode = hcall::kHRemove, .registers = {0, ptex}});
  };
  for (const uint64_t ptex : EntriesThatEndQemu(config_, state)) plan(ptex);
  if (rng_() % 8 == 0) {
    planned_.emplace_back(commit);
    return;
  }
  constexpr uint64_t kRefused = model::kSegmentSizeReserved | model::kBolted | model::kPresent;
  for (uint64_t ptex = 0; ptex < state.entry_count(); ++ptex) {
    if ((state.At(ptex).v & kRefused) == kRefused) plan(ptex);
  }
  planned_.emplace_back(commit);
}

}  // namespace papr::conformance

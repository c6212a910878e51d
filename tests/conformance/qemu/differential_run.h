// Two machines driven by the same steps: says where they differ first. One is the reference, whose
// answers count as right; beside them a model is kept to know which steps can be compared. It goes
// ahead of the machines, so that steps can be planned and then made together: a busy computer takes
// milliseconds to let a QEMU answer.
//
// For one thread.

#ifndef TESTS_CONFORMANCE_QEMU_DIFFERENTIAL_RUN_H_
#define TESTS_CONFORMANCE_QEMU_DIFFERENTIAL_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/machine.h"
#include "hcall/partition_config.h"
#include "tests/conformance/qemu/differential_step.h"
#include "tests/model/reference_model.h"

namespace papr::conformance {

// Makes a machine with a fresh table.
using FreshMachine = std::function<absl::StatusOr<std::unique_ptr<client::Machine>>()>;

struct MachinePair {
  FreshMachine reference;
  FreshMachine subject;
};

// One step as it went.
struct StepRecord {
  DifferentialStep step;
  // What each answered: one result, or two of an H_RESIZE_HPT_PREPARE that was busy at first, its
  // first answer and its last. None for an update, or from a machine that failed.
  std::vector<hcall::HcallResult> reference;
  std::vector<hcall::HcallResult> subject;
  std::string difference;  // empty: they did the same
};

class DifferentialRun {
 public:
  // Makes both machines. Their errors.
  static absl::StatusOr<std::unique_ptr<DifferentialRun>> Start(
      const hcall::PartitionConfig& config, const MachinePair& machines);

  // As the partition will stand when what is planned has been run.
  const model::ReferenceModel& state() const { return state_; }
  // Whether `step` can be planned.
  bool Takes(const DifferentialStep& step) const { return IsComparable(config_, state_, step); }
  // Requires Takes().
  void Plan(const DifferentialStep& step);
  // Takes the planned steps on both, up to the first that differs, which is the last record. A
  // machine that fails differs: if it does so among hcalls that were made together, none of them
  // has answers, and the last of them differs.
  std::vector<StepRecord> RunPlanned();
  // Reads every entry of both tables. The H_READ that differs, if one does.
  std::optional<StepRecord> CompareTables();

  // How often a call gave a return code on the reference; "other" for calls without a name, "R/C"
  // with 0 for updates.
  using Counts = std::map<std::pair<std::string, int64_t>, uint64_t>;
  const Counts& counts() const { return counts_; }

 private:
  DifferentialRun(const hcall::PartitionConfig& config, std::unique_ptr<client::Machine> reference,
                  std::unique_ptr<client::Machine> subject);

  // The next steps of `steps`, at least one: hcalls that can be made together, or one other.
  void RunSome(std::span<const DifferentialStep>& steps, std::vector<StepRecord>& records);
  void RunTogether(std::span<const hcall::HcallRequest> requests, std::vector<StepRecord>& records);
  StepRecord RunPrepare(const hcall::HcallRequest& request);
  StepRecord RunUpdate(const hcall::ReferenceChange& update);
  void Count(const StepRecord& record);
  std::string Difference(std::string_view expected, std::string_view actual) const;

  const hcall::PartitionConfig config_;
  const std::unique_ptr<client::Machine> reference_;
  const std::unique_ptr<client::Machine> subject_;
  const std::unique_ptr<client::Hypervisor> reference_guest_;
  const std::unique_ptr<client::Hypervisor> subject_guest_;
  model::ReferenceModel state_;
  DifferentialSteps planned_;
  Counts counts_;
};

// Runs those of `steps` that can be compared on a new pair of machines, up to the first difference,
// `together` of them at a time, and compares the tables at the end.
inline constexpr size_t kStepsTogether = 64;
struct ReplayResult {
  std::vector<StepRecord> records;  // of the steps that were taken, and of an H_READ that differed
  std::string difference;           // empty: none
};
ReplayResult Replay(const hcall::PartitionConfig& config, const MachinePair& machines,
                    std::span<const DifferentialStep> steps, size_t together = kStepsTogether);

}  // namespace papr::conformance

#endif  // TESTS_CONFORMANCE_QEMU_DIFFERENTIAL_RUN_H_

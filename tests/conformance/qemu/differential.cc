// qemu_differential: random hypercalls, the same ones, to a live QEMU and to hptd in this process.
// Every return code, every register and the whole table at the end must be equal. A sequence that
// shows a difference is shrunk and printed as a conformance vector.
//
// Exit status: 0 no difference, 1 a difference, 2 QEMU or the command line is unusable.

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "client/local_machine.h"
#include "hcall/abi.h"
#include "hcall/partition_spec.h"
#include "tests/conformance/qemu/comparable_hcalls.h"
#include "tests/conformance/qemu/differential_run.h"
#include "tests/conformance/qemu/qemu_machine.h"
#include "tests/conformance/qemu/qemu_pool.h"
#include "tests/conformance/qemu/shrink.h"
#include "tests/conformance/qemu/vector_text.h"

namespace papr::conformance {
namespace {

// What QEMU can be, each with its share of the seeds.
constexpr std::array<std::string_view, 4> kFixtures = {
    "order=18,ram=0:256M,page-sizes=qemu",
    "order=19,ram=0:512M,page-match=whole,page-sizes="
    "4K/0/4K:0/16M:38;64K/110/64K:1/16M:8;16M/100/16M:0",
    "order=18,ram=0:256M,page-match=whole,page-sizes="
    "4K/0/4K:0/16M:38;64K/110/64K:1/16M:8;16M/100/16M:0",
    "order=21,ram=0:256M,page-sizes=qemu,resize=denied"};
constexpr std::string_view kProfile = ",profile=qemu-tcg";

struct Options {
  uint64_t seed = 0;
  uint64_t hcalls = 20'000;
  uint64_t seeds = 1;
};

enum class Outcome { kEqual, kDifferent, kUnusable };

// What the runs of all seeds share.
class Differential {
 public:
  Outcome RunSeed(uint64_t seed, uint64_t hcalls);
  void PrintCounts() const;

 private:
  MachinePair MachinesOf(const hcall::PartitionConfig& config);
  // Random steps until they differ. `steps` gets those that were taken.
  std::string RunRandom(DifferentialRun& run, const hcall::PartitionConfig& config, uint64_t seed,
                        uint64_t hcalls, DifferentialSteps& steps);
  void ShrinkAndPrint(const hcall::PartitionConfig& config, std::string_view fixture, uint64_t seed,
                      const DifferentialSteps& steps);

  QemuPool pool_;
  DifferentialRun::Counts counts_;
};

MachinePair Differential::MachinesOf(const hcall::PartitionConfig& config) {
  return {[this, config]() -> absl::StatusOr<std::unique_ptr<client::Machine>> {
            return QemuMachine::Create(&pool_, config);
          },
          [config]() -> absl::StatusOr<std::unique_ptr<client::Machine>> {
            return client::LocalMachine::Create(config);
          }};
}

std::string Differential::RunRandom(DifferentialRun& run, const hcall::PartitionConfig& config,
                                    uint64_t seed, uint64_t hcalls, DifferentialSteps& steps) {
  ComparableHcalls generator(seed, config);
  for (uint64_t made = 0; made < hcalls;) {
    for (size_t i = 0; i < kStepsTogether && made < hcalls; ++i) {
      steps.push_back(generator.Next(run.state()));
      run.Plan(steps.back());
      if (std::holds_alternative<hcall::HcallRequest>(steps.back())) ++made;
    }
    const std::vector<StepRecord> records = run.RunPlanned();
    if (!records.back().difference.empty()) return records.back().difference;
  }
  // Before the table is read, which takes hypercalls too.
  for (const auto& [outcome, count] : run.counts()) counts_[outcome] += count;
  const auto record = run.CompareTables();
  return record.has_value() ? record->difference : "";
}

Outcome Differential::RunSeed(uint64_t seed, uint64_t hcalls) {
  const std::string fixture(kFixtures[seed % kFixtures.size()]);
  const auto parsed = hcall::ParsePartitionSpec(fixture + std::string(kProfile));
  if (!parsed.ok()) {
    std::cerr << parsed.status() << "\n";
    return Outcome::kUnusable;
  }
  std::cout << "seed " << seed << ", " << hcalls << " hypercalls, " << fixture << std::endl;
  DifferentialSteps steps;
  std::string difference;
  {
    const auto run = DifferentialRun::Start(parsed->config, MachinesOf(parsed->config));
    if (!run.ok()) {
      std::cerr << run.status() << "\n";
      return Outcome::kUnusable;
    }
    difference = RunRandom(**run, parsed->config, seed, hcalls, steps);
    if (difference.empty()) {
      std::cout << "  equal: every answer, and all " << (*run)->state().entry_count()
                << " entries of the table" << std::endl;
      return Outcome::kEqual;
    }
  }
  std::cout << "a difference after " << steps.size() << " steps:\n" << difference << std::endl;
  ShrinkAndPrint(parsed->config, fixture, seed, steps);
  return Outcome::kDifferent;
}

void Differential::ShrinkAndPrint(const hcall::PartitionConfig& config, std::string_view fixture,
                                  uint64_t seed, const DifferentialSteps& steps) {
  const ReplayResult shortest = ShortestDifference(config, MachinesOf(config), steps);
  if (shortest.difference.empty()) {
    std::cout << "but not when the steps are taken again" << std::endl;
    return;
  }
  std::cout << "the shortest sequence that differs:\n\n"
            << VectorText(fixture, absl::StrFormat("seed %d", seed), shortest) << std::endl;
}

void Differential::PrintCounts() const {
  std::string last;
  for (const auto& [outcome, count] : counts_) {
    const auto& [call, return_code] = outcome;
    if (call != last) std::cout << (last.empty() ? "" : "\n") << call;
    std::cout << "  " << hcall::ReturnCodeName(return_code) << " " << count;
    last = call;
  }
  std::cout << std::endl;
}

int Run(const Options& options) {
  Differential differential;
  Outcome worst = Outcome::kEqual;
  for (uint64_t i = 0; i < options.seeds && worst != Outcome::kUnusable; ++i) {
    worst = std::max(worst, differential.RunSeed(options.seed + i, options.hcalls));
  }
  differential.PrintCounts();
  return static_cast<int>(worst);
}

}  // namespace
}  // namespace papr::conformance

int main(int argc, char** argv) {
  papr::conformance::Options options;
  options.seed = std::random_device{}();
  CLI::App app("Random hypercalls to a live QEMU and to hptd: are all answers equal?");
  app.add_option("--seed", options.seed, "of the first sequence; by default another every time")
      ->envname("HPTD_SEED");
  app.add_option("--hcalls", options.hcalls, "of each sequence")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seeds", options.seeds,
                 "so many sequences, of consecutive seeds; four meet every kind of partition")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.footer(
      "\nExit status: 0 no difference, 1 a difference, 2 QEMU or the command line is unusable.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return papr::conformance::Run(options);
}

// Random hypercalls on the engine and on the reference model: any 64-bit values in any register of
// any opcode give a PAPR return code, the one of the specification, and change nothing but their
// own partition. More than a million in all.
//
// --seed=N (or HPTD_SEED) repeats a run; --hcalls=N sets how many hypercalls a case makes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hcall/dispatch.h"
#include "mmu/pteg_scan.h"
#include "tests/model/comparison.h"
#include "tests/model/random_hcalls.h"

namespace papr::model {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kDefaultHcalls = 20'000;
#else
constexpr uint64_t kDefaultHcalls = 200'000;
#endif
constexpr uint64_t kStatisticsEvery = 500;
constexpr uint64_t kTablesEvery = 5'000;
// Enough to meet every outcome, as a rule; an unlucky seed, whose table refuses every resize for
// long, goes on to the second number.
constexpr uint64_t kHcallsForCoverage = 100'000;
constexpr uint64_t kMostHcallsForCoverage = 5'000'000;

uint64_t seed = 0;
uint64_t hcalls_per_case = kDefaultHcalls;

constexpr uint64_t kMegabyte = uint64_t{1} << 20;
constexpr uint64_t kGigabyte = uint64_t{1} << 30;
using Region = hcall::MemoryRegion;
using hcall::PartitionConfig;
using hcall::Profile;

struct Case {
  std::string name;
  PartitionConfig config;
  WithMemory with_memory = WithMemory::kNo;
};

PartitionConfig Base(Profile profile, int order) {
  PartitionConfig config;
  config.profile = profile;
  config.order = order;
  config.memory = {{0, kGigabyte, Region::Kind::kRam},
                   {0x10000000000, 64 * kMegabyte, Region::Kind::kIo}};
  config.resize_preparation = hcall::ResizePreparation::kManual;
  config.features = hcall::Features::Default(profile);
  return config;
}

// RAM of odd sizes, 16 GB aligned RAM, and a hole between them.
std::vector<Region> UnevenMemory() {
  return {{0, 256 * kMegabyte + 0x9000, Region::Kind::kRam},
          {kGigabyte + 0x3000, 0xd000, Region::Kind::kRam},
          {2 * kGigabyte, 48 * kMegabyte, Region::Kind::kRam},
          {3 * kGigabyte, 16 * kMegabyte + 0x10000, Region::Kind::kIo},
          {16 * kGigabyte, 16 * kGigabyte, Region::Kind::kRam}};
}

void AddKvmCases(std::vector<Case>& cases) {
  cases.push_back({"KvmOrder18", Base(Profile::kKvmHv, 18)});
  cases.push_back({"KvmOrder20Power9", Base(Profile::kKvmHv, 20)});
  cases.back().config.processor = hcall::Processor::kPower9;
  cases.push_back({"KvmMemory", Base(Profile::kKvmHv, 19), WithMemory::kYes});
  cases.back().config.memory = UnevenMemory();
  cases.push_back({"KvmStrictFlags", Base(Profile::kKvmHv, 18)});
  cases.back().config.strict_flags = true;
  cases.push_back({"KvmFeaturesOff", Base(Profile::kKvmHv, 18)});
  cases.back().config.features = {.bulk_remove = false,
                                  .block_remove = false,
                                  .hash = false,
                                  .resize = false,
                                  .clear_rc = false,
                                  .page_init = false,
                                  .clear_hpt = false};
  cases.push_back({"KvmSmallPages", Base(Profile::kKvmHv, 18)});
  cases.back().config.page_sizes = mmu::PageSizeTable::QemuDefault();
  cases.back().config.block_remove_sizes = {{mmu::k4K, mmu::k4K}};
  cases.back().config.hash_opcode_base = 0xfa00;
  cases.push_back({"KvmResizeDenied", Base(Profile::kKvmHv, 18)});
  cases.back().config.resize_permitted = false;
  cases.push_back({"KvmMaxOrder", Base(Profile::kKvmHv, 18)});
  cases.back().config.max_order = 19;
  cases.push_back({"KvmRadix", Base(Profile::kKvmHv, 18)});
  cases.back().config.mmu = hcall::MmuKind::kRadix;
}

void AddQemuCases(std::vector<Case>& cases) {
  cases.push_back({"QemuDefault", Base(Profile::kQemuTcg, 18)});
  cases.back().config.page_sizes = mmu::PageSizeTable::QemuDefault();
  cases.back().config.block_remove_sizes = {};
  cases.push_back({"QemuLargePages", Base(Profile::kQemuTcg, 19), WithMemory::kYes});
  cases.back().config.page_sizes =
      *mmu::PageSizeTable::Create({{mmu::k4K, 0, {{mmu::k4K, 0}, {mmu::k16M, 0x38}}},
                                   {mmu::k64K, 0x110, {{mmu::k64K, 1}, {mmu::k16M, 8}}},
                                   {mmu::k16M, 0x100, {{mmu::k16M, 0}}}},
                                  mmu::PageSizeTable::Match::kWholePage);
  cases.back().config.memory = UnevenMemory();
  cases.push_back({"QemuHash", Base(Profile::kQemuTcg, 18)});
  cases.back().config.features.hash = true;
  cases.push_back({"QemuStrictFlags", Base(Profile::kQemuTcg, 20)});
  cases.back().config.strict_flags = true;
  cases.back().config.processor = hcall::Processor::kPower9;
  cases.push_back({"QemuFeaturesOff", Base(Profile::kQemuTcg, 18)});
  cases.back().config.features.bulk_remove = false;
  cases.back().config.features.resize = false;
  cases.push_back({"QemuRadix", Base(Profile::kQemuTcg, 18)});
  cases.back().config.mmu = hcall::MmuKind::kRadix;
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    AddKvmCases(all);
    AddQemuCases(all);
    return all;
  }();
  return cases;
}

class ModelTest : public testing::TestWithParam<size_t> {};

// A partition beside the one under test, with something in it to lose.
std::unique_ptr<hcall::Partition> MakeNeighbour() {
  auto neighbour = *hcall::Partition::Create(Base(Profile::kKvmHv, 18));
  for (uint64_t ptex = 3; ptex < 0x4000; ptex += 97) {
    hcall::HcallRequest request{.opcode = hcall::kHEnter};
    request.registers = {hcall::kFlagExact, ptex, (ptex << 7) | 1, (ptex << 12) | 0x12};
    EXPECT_EQ(hcall::Dispatch(*neighbour, request).return_code, hcall::kHSuccess);
  }
  return neighbour;
}

TEST_P(ModelTest, EngineAgreesWithTheModel) {
  const Case& test_case = Cases()[GetParam()];
  std::cout << "seed " << seed << ", " << hcalls_per_case
            << " hypercalls; again with --seed=" << seed << "\n";
  auto neighbour = MakeNeighbour();
  const std::vector<uint64_t> neighbour_before = ReadTable(*neighbour);

  Comparison comparison(test_case.config, test_case.with_memory);
  RandomHcalls generator(seed, test_case.config);
  std::string difference;
  uint64_t next_statistics = kStatisticsEvery;
  uint64_t next_tables = kTablesEvery;
  while (difference.empty() && comparison.hcalls() < hcalls_per_case) {
    difference = comparison.Run(generator.Next(comparison.model()));
    if (difference.empty() && comparison.hcalls() >= next_statistics) {
      difference = comparison.CompareStatistics();
      next_statistics += kStatisticsEvery;
    }
    if (difference.empty() && comparison.hcalls() >= next_tables) {
      difference = comparison.CompareTables();
      next_tables += kTablesEvery;
    }
  }
  if (difference.empty()) difference = comparison.CompareStatistics();
  if (difference.empty()) difference = comparison.CompareTables();
  EXPECT_TRUE(difference.empty()) << difference << "\nat hypercall " << comparison.hcalls()
                                  << " of --seed=" << seed << "; the last steps:\n"
                                  << comparison.LastSteps();
  EXPECT_TRUE(ReadTable(*neighbour) == neighbour_before) << "the partition beside it has changed";
}

// Runs hypercalls in batches of random length, some of which end at the first error, and compares
// each result with that of the same call alone.
class BatchRun {
 public:
  BatchRun(hcall::Partition& partition, uint64_t batch_seed)
      : partition_(partition), random_(batch_seed) {}

  void Add(const hcall::HcallRequest& request, const hcall::HcallResult& expected) {
    requests_.push_back(request);
    expected_.push_back(expected);
    if (requests_.size() >= length_) Flush();
  }
  void Flush() {
    std::vector<hcall::HcallResult> results(requests_.size());
    for (size_t done = 0; done < requests_.size();) {
      const auto mode =
          random_() % 2 == 0 ? hcall::BatchMode::kAll : hcall::BatchMode::kStopAtFirstError;
      const auto rest = std::span(results).subspan(done);
      const size_t ran =
          hcall::DispatchBatch(partition_, std::span(requests_).subspan(done), mode, rest);
      ASSERT_GT(ran, 0u);
      for (size_t i = done; i < done + ran; ++i) Compare(i, results[i]);
      done += ran;
      const bool failed = results[done - 1].return_code != hcall::kHSuccess;
      ASSERT_TRUE(done == requests_.size() || (mode != hcall::BatchMode::kAll && failed));
    }
    requests_.clear();
    expected_.clear();
    length_ = 1 + random_() % 600;
  }

 private:
  void Compare(size_t i, const hcall::HcallResult& result) {
    EXPECT_EQ(result.return_code, expected_[i].return_code) << std::hex << requests_[i].opcode;
    EXPECT_EQ(result.output_count, expected_[i].output_count) << std::hex << requests_[i].opcode;
    EXPECT_EQ(result.registers, expected_[i].registers) << std::hex << requests_[i].opcode;
  }

  hcall::Partition& partition_;
  std::mt19937_64 random_;
  std::vector<hcall::HcallRequest> requests_;
  std::vector<hcall::HcallResult> expected_;
  size_t length_ = 1;
};

// With each way of searching a PTEG that this processor has.
TEST_P(ModelTest, BatchesGiveWhatSingleCallsGive) {
  const PartitionConfig& config = Cases()[GetParam()].config;
  std::cout << "again with --seed=" << seed << "\n";
  for (const auto scan : {mmu::PtegScan::kPortable, mmu::BestPtegScan()}) {
    mmu::SetPtegScan(scan);
    ReferenceModel model(config);
    const auto single = *hcall::Partition::Create(config);
    const auto batched = *hcall::Partition::Create(config);
    RandomHcalls generator(seed, config);
    BatchRun batches(*batched, seed);
    for (uint64_t i = 0; i < hcalls_per_case && !testing::Test::HasFailure(); ++i) {
      const Step step = generator.Next(model);
      if (const auto* request = std::get_if<hcall::HcallRequest>(&step)) {
        model.Hcall(*request);
        batches.Add(*request, hcall::Dispatch(*single, *request));
        continue;
      }
      batches.Flush();
      if (const auto* update = std::get_if<hcall::ReferenceChange>(&step)) {
        size_t applied = 0;
        model.SetReferenceChange(*update);
        EXPECT_EQ(single->SetReferenceChange({update, 1}, &applied).code(),
                  batched->SetReferenceChange({update, 1}, &applied).code());
      } else {
        const auto& finish = std::get<FinishPreparation>(step);
        model.FinishResizePreparation(finish.order, finish.return_code);
        EXPECT_EQ(single->FinishResizePreparation(finish.order, finish.return_code).code(),
                  batched->FinishResizePreparation(finish.order, finish.return_code).code());
      }
    }
    batches.Flush();
    EXPECT_EQ(single->GetStatistics().digest, batched->GetStatistics().digest);
  }
}

INSTANTIATE_TEST_SUITE_P(Partitions, ModelTest, testing::Range(size_t{0}, Cases().size()),
                         [](const auto& one) { return Cases()[one.param].name; });

// What a long run must have met, so that the comparison means something.
struct Outcome {
  const char* call;
  std::vector<int64_t> return_codes;
};

void ExpectOutcomes(const PartitionConfig& config, const std::vector<Outcome>& outcomes) {
  Comparison comparison(config, WithMemory::kYes);
  RandomHcalls generator(seed, config);
  const auto met = [&] {
    return std::all_of(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
      return std::all_of(outcome.return_codes.begin(), outcome.return_codes.end(),
                         [&](int64_t return_code) {
                           return comparison.counts().contains({outcome.call, return_code});
                         });
    });
  };
  for (uint64_t goal = kHcallsForCoverage; goal <= kMostHcallsForCoverage && !met();
       goal += kHcallsForCoverage) {
    while (comparison.hcalls() < goal) {
      const std::string difference = comparison.Run(generator.Next(comparison.model()));
      ASSERT_TRUE(difference.empty()) << difference << "\nof --seed=" << seed;
    }
  }
  for (const Outcome& outcome : outcomes) {
    for (const int64_t return_code : outcome.return_codes) {
      const auto found = comparison.counts().find({outcome.call, return_code});
      EXPECT_TRUE(found != comparison.counts().end())
          << outcome.call << " never gave " << hcall::ReturnCodeName(return_code)
          << " of --seed=" << seed;
    }
  }
}

TEST(ModelCoverage, KvmCallsMeetTheirReturnCodes) {
  PartitionConfig config = Base(Profile::kKvmHv, 18);
  config.memory = UnevenMemory();
  config.max_order = 20;
  ExpectOutcomes(config, {{"H_ENTER", {0, -4, -6, -64}},
                          {"H_READ", {0, -4}},
                          {"H_REMOVE", {0, -4, -7}},
                          {"H_PROTECT", {0, -4, -7}},
                          {"H_CLEAR_REF", {0, -4, -7}},
                          {"H_CLEAR_MOD", {0, -4, -7}},
                          {"H_BULK_REMOVE", {0, -4, -3}},
                          {"H_BLOCK_REMOVE", {0, 5, -4}},
                          {"H_HASH_REMOVE", {0, -4, -7}},
                          {"H_HASH_PROTECT", {0, -4, -7}},
                          {"H_HASH_BULK_REMOVE", {0, -4}},
                          {"H_PAGE_INIT", {0, -4}},
                          {"H_CLEAR_HPT", {0}},
                          {"H_RESIZE_HPT_PREPARE", {0, 9902, -4, -9, -16}},
                          {"H_RESIZE_HPT_COMMIT", {0, 1, 2, -4, -6}},
                          {"other", {-2, -3}}});
}

TEST(ModelCoverage, QemuCallsMeetTheirReturnCodes) {
  ExpectOutcomes(Base(Profile::kQemuTcg, 18), {{"H_ENTER", {0, -4, -6}},
                                               {"H_READ", {0, -4}},
                                               {"H_REMOVE", {0, -4, -7}},
                                               {"H_PROTECT", {0, -4, -7}},
                                               {"H_CLEAR_REF", {-2}},
                                               {"H_BULK_REMOVE", {0, -4}},
                                               {"H_BLOCK_REMOVE", {-2}},
                                               {"H_PAGE_INIT", {0, -4}},
                                               {"H_RESIZE_HPT_PREPARE", {0, 9902, -4, -16}},
                                               {"H_RESIZE_HPT_COMMIT", {0, 1, 2, -4, -6}}});
}

// Differences that random hypercalls found once.
void ExpectAgreement(const PartitionConfig& config,
                     const std::vector<hcall::HcallRequest>& requests) {
  Comparison comparison(config, WithMemory::kYes);
  for (const hcall::HcallRequest& request : requests) {
    const std::string difference = comparison.Run(request);
    EXPECT_TRUE(difference.empty()) << difference;
  }
}

// A virtual address has 78 bits: page numbers of two segments may differ above the 64th.
TEST(ModelFindings, BlockRemoveTellsVsidsApartByTheirTopBits) {
  ExpectAgreement(
      Base(Profile::kKvmHv, 24),
      {{hcall::kHEnter, {hcall::kFlagExact, 0xb3c43, 0x0000123456789001, 0x1234012}},
       {hcall::kHEnter, {hcall::kFlagExact, 0xb3c58, 0x2000123456789001, 0x1235012}},
       {hcall::kHBlockRemove, {0, 0x40000000000b3c43, 0x40000000000b3c58, 0xc000000000000000}}});
}

TEST(ModelFindings, PageFlagsAreIgnoredForInputAndOutput) {
  ExpectAgreement(Base(Profile::kKvmHv, 18),
                  {{hcall::kHEnter, {hcall::kFlagZeroPage, 0, 0x305, 0x0000010000000032}}});
}

// Takes "--name=N" out of `argument`. False: it is something else or no number.
bool ParseNumber(std::string_view argument, std::string_view prefix, uint64_t* value) {
  if (argument.substr(0, prefix.size()) != prefix) return false;
  return absl::SimpleAtoi(std::string(argument.substr(prefix.size())), value);
}

bool ParseCommandLine(int argc, char** argv) {
  seed = std::random_device{}();
  const char* environment = std::getenv("HPTD_SEED");
  if (environment != nullptr && !absl::SimpleAtoi(environment, &seed)) return false;
  for (int i = 1; i < argc; ++i) {
    if (!ParseNumber(argv[i], "--seed=", &seed) &&
        !ParseNumber(argv[i], "--hcalls=", &hcalls_per_case)) {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace papr::model

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!papr::model::ParseCommandLine(argc, argv)) {
    std::cerr << "usage: model_test [--seed=N] [--hcalls=N]; or HPTD_SEED=N\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}

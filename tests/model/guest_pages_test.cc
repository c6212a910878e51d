// Random hypercalls, table walks, resizes and resets on a partition with track_guest_pages, with
// questions in between, each of which must be answered as a look at the whole table tells; and the
// hypercalls get the answers of the reference model as ever.
//
// --seed=N (or HPTD_SEED) repeats a run; --steps=N sets how many steps a case makes.

#include "hcall/guest_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hcall/dispatch.h"
#include "tests/model/page_oracle.h"
#include "tests/model/random_hcalls.h"
#include "tests/model/reference_model.h"

namespace papr::model {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kDefaultSteps = 2'000;
#else
constexpr uint64_t kDefaultSteps = 10'000;
#endif
constexpr uint64_t kQuestionEvery = 6;
constexpr uint64_t kResetEvery = 500;
constexpr uint64_t kResizeAfterReset = 60;
constexpr uint64_t kMegabyte = uint64_t{1} << 20;
constexpr uint64_t kPageBytes = 4096;

uint64_t seed = 0;
uint64_t steps = kDefaultSteps;

using hcall::PartitionConfig;
using hcall::Profile;
using Clear = mmu::ReferenceHarvest::Clear;
using Region = hcall::MemoryRegion;
using Take = mmu::DirtyLog::Take;

struct Case {
  std::string name;
  PartitionConfig config;
};

PartitionConfig Base(Profile profile) {
  PartitionConfig config;
  config.profile = profile;
  config.order = 18;
  config.features = hcall::Features::Default(profile);
  config.resize_preparation = hcall::ResizePreparation::kManual;
  config.track_guest_pages = true;
  return config;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back({"Kvm", Base(Profile::kKvmHv)});
  cases.back().config.memory = {{0, 32 * kMegabyte, Region::Kind::kRam},
                                {64 * kMegabyte, 0x30000, Region::Kind::kRam},
                                {128 * kMegabyte, kMegabyte, Region::Kind::kIo}};
  // Parts that touch, and large pages that run past the end of the RAM; 16 GB ones among them.
  const std::vector<Region> uneven = {{24 * kMegabyte, 0x3000, Region::Kind::kRam},
                                      {0, 24 * kMegabyte, Region::Kind::kRam},
                                      {30 * kMegabyte, 0x9000, Region::Kind::kRam},
                                      {64 * kMegabyte, 0x13000, Region::Kind::kRam}};
  cases.push_back({"QemuAllPageSizes", Base(Profile::kQemuTcg)});
  cases.back().config.memory = uneven;
  cases.back().config.features.hash = true;
  cases.push_back({"QemuWholePageMatch", Base(Profile::kQemuTcg)});
  cases.back().config.memory = uneven;
  cases.back().config.page_sizes = *mmu::PageSizeTable::Create(
      mmu::PageSizeTable::Power().segments(), mmu::PageSizeTable::Match::kWholePage);
  return cases;
}

class GuestPagesModelTest : public testing::TestWithParam<size_t> {
 protected:
  GuestPagesModelTest()
      : config_(Cases()[GetParam()].config),
        engine_(*hcall::Partition::Create(config_)),
        oracle_(*engine_),
        random_(seed + GetParam()) {
    model_.emplace(config_);
  }

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  // Of a page of RAM or one near it.
  uint64_t SomePage() {
    const Region& region = config_.memory[Below(config_.memory.size())];
    return region.base + Below(region.size / kPageBytes + 3) * kPageBytes;
  }

  void Run(Step step);
  void RunHcall(const hcall::HcallRequest& request);
  void Ask();
  void AskDirty();
  void AskMappings();
  void AskHarvest();
  void Unplug();
  // Tries to; entries that need one place may forbid it.
  void Resize();

  const PartitionConfig config_;
  std::unique_ptr<hcall::Partition> engine_;
  std::optional<ReferenceModel> model_;
  PageOracle oracle_;
  std::mt19937_64 random_;
  uint64_t mapped_ = 0;  // how much the questions found: a run that meets nothing proves nothing
  uint64_t dirty_ = 0;
  uint64_t harvested_ = 0;
  uint64_t removed_ = 0;
  uint64_t resized_ = 0;
};

void GuestPagesModelTest::Run(Step step) {
  if (auto* request = std::get_if<hcall::HcallRequest>(&step)) {
    // Many on few pages, so that lists grow long.
    uint64_t& r = request->registers[3];
    const bool large = (request->registers[2] & mmu::kVLarge) != 0;
    if (request->opcode == hcall::kHEnter && !large && Below(2) == 0) {
      r = (r & ~mmu::kRRpn) | Below(6) * 4 * kPageBytes;
    }
    return RunHcall(*request);
  }
  if (const auto* walk = std::get_if<hcall::ReferenceChange>(&step)) {
    size_t applied = 0;
    const bool done = engine_->SetReferenceChange({walk, 1}, &applied).ok();
    ASSERT_EQ(done, model_->SetReferenceChange(*walk));
    if (done) oracle_.AfterWalk(*walk);
    return;
  }
  const auto& finish = std::get<FinishPreparation>(step);
  ASSERT_EQ(engine_->FinishResizePreparation(finish.order, finish.return_code).ok(),
            model_->FinishResizePreparation(finish.order, finish.return_code));
}

void GuestPagesModelTest::RunHcall(const hcall::HcallRequest& request) {
  const int64_t code = hcall::Dispatch(*engine_, request).return_code;
  ASSERT_EQ(code, model_->Hcall(request).return_code);
  const bool commit = request.opcode == hcall::kHResizeHptCommit && code == hcall::kHSuccess;
  resized_ += commit ? 1 : 0;
  commit ? oracle_.AfterNewTable() : oracle_.AfterStep();
}

void GuestPagesModelTest::AskDirty() {
  const uint64_t start = Below(3) == 0 ? SomePage() : 0;
  const size_t most = Below(2) == 0 ? 1 + Below(4) : 100'000;
  const Take take = Below(3) == 0 ? Take::kKeep : Take::kYes;
  const auto answer = hcall::TakeDirtyPages(*engine_, start, most, take);
  ASSERT_TRUE(answer.ok()) << answer.status();
  std::vector<hcall::PageRun> runs;
  auto page = oracle_.dirty().lower_bound(start);
  while (page != oracle_.dirty().end()) {
    const uint64_t address = *page;
    if (runs.empty() || runs.back().address + runs.back().bytes != address) {
      if (runs.size() == most) break;
      runs.push_back({address, 0});
    }
    runs.back().bytes += kPageBytes;
    ++page;
    if (take == Take::kYes) oracle_.ForgetDirty(address);
  }
  ASSERT_EQ(answer->runs, runs);
  ASSERT_EQ(answer->more, page != oracle_.dirty().end());
  if (answer->more) {
    ASSERT_EQ(answer->next, *page);
  }
  dirty_ += runs.size();
}

void GuestPagesModelTest::AskMappings() {
  const uint64_t page = Below(2) == 0 ? Below(24) * kPageBytes : SomePage();
  const auto answer = hcall::ListMappings(*engine_, page, 100'000);
  ASSERT_TRUE(answer.ok()) << answer.status();
  std::vector<uint64_t> found;
  for (const hcall::Mapping& mapping : answer->mappings) {
    found.push_back(mapping.ptex);
    ASSERT_EQ(mapping.hpte, engine_->table().Read(mapping.ptex));
  }
  std::sort(found.begin(), found.end());
  ASSERT_EQ(found, oracle_.Mapping(page, kPageBytes)) << std::hex << page;
  mapped_ += found.size();
  const auto less = hcall::ListMappings(*engine_, page, 1);
  ASSERT_EQ(less->mappings.size(), std::min<size_t>(found.size(), 1));
  ASSERT_EQ(less->more, found.size() > 1);
}

void GuestPagesModelTest::AskHarvest() {
  const uint64_t base = SomePage();
  const uint64_t bytes = (1 + Below(Below(2) == 0 ? 40 : 20'000)) * kPageBytes;
  const size_t most = Below(2) == 0 ? 1 + Below(3) : 100'000;
  const bool clear = Below(3) != 0;
  const auto answer =
      hcall::HarvestReferenceChange(*engine_, base, bytes, most, clear ? Clear::kYes : Clear::kNo);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const uint64_t end = answer->more ? answer->next : base + bytes;
  ASSERT_EQ(answer->runs, oracle_.Harvest(base, end, clear));
  if (answer->more) {
    ASSERT_EQ(answer->runs.size(), most);
  }
  harvested_ += answer->runs.size();
}

void GuestPagesModelTest::Unplug() {
  const uint64_t base = SomePage();
  const uint64_t bytes = (1 + Below(Below(4) == 0 ? 8'000 : 16)) * kPageBytes;
  const std::vector<uint64_t> expected = oracle_.Mapping(base, bytes);
  const auto answer = hcall::RemoveMappings(*engine_, base, bytes);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->removed, expected.size());
  for (const uint64_t ptex : expected) {
    model_->Hcall({.opcode = hcall::kHRemove, .registers = {0, ptex}});
  }
  removed_ += expected.size();
  oracle_.AfterStep();
  ASSERT_EQ(oracle_.Mapping(base, bytes), std::vector<uint64_t>());
}

void GuestPagesModelTest::Resize() {
  const int order = model_->order() == 18 ? 19 : 18;
  const auto number = static_cast<uint64_t>(order);
  Run(hcall::HcallRequest{.opcode = hcall::kHResizeHptPrepare, .registers = {0, number}});
  Run(FinishPreparation{order, hcall::kHSuccess});
  Run(hcall::HcallRequest{.opcode = hcall::kHResizeHptCommit, .registers = {0, number}});
}

void GuestPagesModelTest::Ask() {
  switch (Below(16)) {
    case 0:
      return Unplug();
    case 1:
    case 2:
    case 3:
    case 4:
      return AskHarvest();
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
      return AskMappings();
    default:
      return AskDirty();
  }
}

std::string NameOf(const testing::TestParamInfo<size_t>& param) {
  return Cases()[param.param].name;
}
INSTANTIATE_TEST_SUITE_P(Configurations, GuestPagesModelTest, testing::Range(size_t{0}, size_t{3}),
                         NameOf);

TEST_P(GuestPagesModelTest, AnswersAreThoseOfTheWholeTable) {
  SCOPED_TRACE(absl::StrCat("--seed=", seed));
  RandomHcalls hcalls(seed, config_);
  for (uint64_t step = 0; step < steps; ++step) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    ASSERT_NO_FATAL_FAILURE(Run(hcalls.Next(*model_)));
    if (step % kResetEvery == kResizeAfterReset) {
      ASSERT_NO_FATAL_FAILURE(Resize());
    }
    if (step % kResetEvery == kResetEvery - 1) {
      ASSERT_TRUE(engine_->Reset().ok());
      model_.emplace(config_);
      oracle_.AfterNewTable();
    }
    if (Below(kQuestionEvery) == 0) {
      ASSERT_NO_FATAL_FAILURE(Ask());
    }
    if (step % 500 == 0) {
      ASSERT_EQ(engine_->reverse_map()->CheckLists(), absl::OkStatus());
    }
  }
  for (const uint64_t found : {mapped_, dirty_, harvested_, removed_, resized_}) {
    EXPECT_GT(found, 0u) << "mapped " << mapped_ << ", dirty " << dirty_ << ", harvested "
                         << harvested_ << ", removed " << removed_ << ", resized " << resized_;
  }
  std::cout << "mapped " << mapped_ << ", dirty " << dirty_ << ", harvested " << harvested_
            << ", removed " << removed_ << ", resized " << resized_ << "\n";
}

bool ParseCommandLine(int argc, char** argv) {
  seed = std::random_device{}();
  const char* environment = std::getenv("HPTD_SEED");
  if (environment != nullptr && !absl::SimpleAtoi(environment, &seed)) return false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    uint64_t* value = argument.rfind("--seed=", 0) == 0    ? &seed
                      : argument.rfind("--steps=", 0) == 0 ? &steps
                                                           : nullptr;
    if (value == nullptr || !absl::SimpleAtoi(argument.substr(argument.find('=') + 1), value)) {
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
    std::cerr << "usage: guest_pages_test [--seed=N] [--steps=N]; or HPTD_SEED=N\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}

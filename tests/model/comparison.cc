#include "tests/model/comparison.h"

#include <array>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hcall/dispatch.h"

namespace papr::model {
namespace {

constexpr size_t kStepsRemembered = 12;
constexpr uint64_t kRead4 = 0x2000000000;

hcall::PartitionConfig WithLog(hcall::PartitionConfig config, std::shared_ptr<MemoryLog> log) {
  config.guest_memory = std::move(log);
  return config;
}

std::unique_ptr<hcall::Partition> MakePartition(hcall::PartitionConfig config) {
  auto partition = hcall::Partition::Create(std::move(config));
  if (!partition.ok()) {
    std::cerr << "cannot create the partition: " << partition.status() << "\n";
    std::abort();
  }
  return *std::move(partition);
}

std::string Describe(const hcall::Registers& registers) {
  std::string text;
  for (int i = 0; i < hcall::kRegisterCount; ++i) {
    absl::StrAppendFormat(&text, " r%d=%016x", i + 4, registers[i]);
  }
  return text;
}

std::string Describe(const hcall::HcallResult& result) {
  return absl::StrCat(hcall::ReturnCodeName(result.return_code), " (", result.return_code, "), ",
                      result.output_count, " outputs:", Describe(result.registers));
}

// H_BLOCK_REMOVE may call the second of two specifiers of one entry busy (4) or not found (1).
bool IsRepeatedSpecifier(const hcall::HcallRequest& request, const hcall::HcallResult& expected,
                         int k) {
  constexpr uint64_t kPtex = 0x0000ffffffffffff;
  for (int earlier = 0; earlier < k; ++earlier) {
    const bool removed = (expected.registers[earlier] & 0xf800000000000000) == 0x8000000000000000;
    const bool same = ((request.registers[earlier + 1] ^ request.registers[k + 1]) & kPtex) == 0;
    if (removed && same) return true;
  }
  return false;
}

// `actual` with the answers replaced that the specification leaves open.
hcall::HcallResult Normalised(const hcall::HcallRequest& request,
                              const hcall::HcallResult& expected, hcall::HcallResult actual) {
  if (request.opcode != hcall::kHBlockRemove || expected.output_count != 8) return actual;
  for (int k = 0; k < 8; ++k) {
    const uint64_t busy_instead = expected.registers[k] ^ 0x2800000000000000;
    if (actual.registers[k] == busy_instead && (expected.registers[k] >> 59) == 0x11 &&
        IsRepeatedSpecifier(request, expected, k)) {
      actual.registers[k] = expected.registers[k];
    }
  }
  return actual;
}

bool Same(const hcall::HcallResult& a, const hcall::HcallResult& b) {
  return a.return_code == b.return_code && a.output_count == b.output_count &&
         a.registers == b.registers;
}

}  // namespace

void MemoryLog::Zero(uint64_t address, uint64_t bytes) {
  accesses_.push_back({address, 0, bytes, false});
}

void MemoryLog::Copy(uint64_t destination, uint64_t source, uint64_t bytes) {
  accesses_.push_back({destination, source, bytes, true});
}

Comparison::Comparison(const hcall::PartitionConfig& config, WithMemory with_memory)
    : engine_memory_(with_memory == WithMemory::kYes ? std::make_shared<MemoryLog>() : nullptr),
      model_memory_(with_memory == WithMemory::kYes ? std::make_shared<MemoryLog>() : nullptr),
      engine_(MakePartition(WithLog(config, engine_memory_))),
      model_(WithLog(config, model_memory_)),
      hash_base_(config.hash_opcode_base) {}

std::string Comparison::NameOf(uint64_t opcode) const {
  if (opcode >= hash_base_ && opcode <= hash_base_ + 8) opcode = opcode - hash_base_ + 0xf900;
  const std::string_view name = hcall::OpcodeName(opcode);
  return name.empty() ? "other" : std::string(name);
}

std::string Comparison::Run(const Step& step) {
  last_steps_.push_back(step);
  if (last_steps_.size() > kStepsRemembered) last_steps_.pop_front();
  if (const auto* request = std::get_if<hcall::HcallRequest>(&step)) return RunHcall(*request);
  if (const auto* update = std::get_if<hcall::ReferenceChange>(&step)) {
    size_t applied = 0;
    const absl::Status actual = engine_->SetReferenceChange({update, 1}, &applied);
    const bool expected = model_.SetReferenceChange(*update);
    if (actual.ok() == expected && applied == (expected ? 1 : 0)) return "";
    return absl::StrCat("SetReferenceChange: engine ", actual.ToString(), ", applied ", applied,
                        "; model ", expected ? "applied it" : "refused it");
  }
  const auto& finish = std::get<FinishPreparation>(step);
  const absl::Status actual = engine_->FinishResizePreparation(finish.order, finish.return_code);
  const bool expected = model_.FinishResizePreparation(finish.order, finish.return_code);
  if (actual.ok() == expected) return "";
  return absl::StrCat("FinishResizePreparation: engine ", actual.ToString(), "; model ",
                      expected ? "applied it" : "refused it");
}

std::string Comparison::RunHcall(const hcall::HcallRequest& request) {
  ++hcalls_;
  const hcall::HcallResult expected = model_.Hcall(request);
  const hcall::HcallResult actual =
      Normalised(request, expected, hcall::Dispatch(*engine_, request));
  ++counts_[{NameOf(request.opcode), expected.return_code}];
  if (!Same(expected, actual)) {
    return absl::StrCat(NameOf(request.opcode), "\n  engine: ", Describe(actual),
                        "\n  model:  ", Describe(expected));
  }
  if (engine_memory_ == nullptr || engine_memory_->Take() == model_memory_->Take()) return "";
  return absl::StrCat(NameOf(request.opcode), ": guest memory was written differently");
}

std::string Comparison::CompareStatistics() const {
  const hcall::HptStatistics actual = engine_->GetStatistics();
  const ReferenceModel::Statistics expected = model_.GetStatistics();
  std::string text;
  const auto compare = [&](const char* what, uint64_t engine, uint64_t model) {
    if (engine != model)
      absl::StrAppendFormat(&text, "%s: engine %x, model %x\n", what, engine, model);
  };
  compare("order", actual.order, model_.order());
  compare("valid", actual.valid, expected.valid);
  compare("bolted", actual.bolted, expected.bolted);
  compare("secondary", actual.secondary, expected.secondary);
  compare("large", actual.large, expected.large);
  compare("digest", actual.digest, expected.digest);
  compare("pending order", actual.pending_order.value_or(0), model_.pending_order().value_or(0));
  return text;
}

std::string Comparison::CompareTables() {
  constexpr int kLargestOrderReadWhole = 21;
  if (model_.radix() || model_.order() > kLargestOrderReadWhole) return "";
  const std::vector<uint64_t> words = ReadTable(*engine_);
  if (words.size() != 2 * model_.entry_count()) return "table size";
  std::array<uint64_t, kSlots + 1> fill{};
  for (uint64_t group = 0; group <= model_.group_mask(); ++group) {
    int valid = 0;
    for (uint64_t ptex = group * kSlots; ptex < (group + 1) * kSlots; ++ptex) {
      const Entry actual{words[2 * ptex], words[2 * ptex + 1]};
      const Entry expected = model_.At(ptex);
      if (actual != expected) {
        return absl::StrFormat("entry %x: engine %016x %016x, model %016x %016x", ptex, actual.v,
                               actual.r, expected.v, expected.r);
      }
      if (model_.Present(ptex)) ++valid;
    }
    ++fill[valid];
  }
  return engine_->GetStatistics().pteg_fill == fill ? "" : "fill of the PTEGs";
}

std::string Comparison::LastSteps() const {
  std::string text;
  for (const Step& step : last_steps_) {
    if (const auto* request = std::get_if<hcall::HcallRequest>(&step)) {
      absl::StrAppendFormat(&text, "%s 0x%x%s%s\n", NameOf(request->opcode), request->opcode,
                            request->problem_state ? " (problem state)" : "",
                            Describe(request->registers));
    } else if (const auto* update = std::get_if<hcall::ReferenceChange>(&step)) {
      absl::StrAppendFormat(&text, "SetReferenceChange ptex=%x r=%d c=%d\n", update->ptex,
                            update->referenced, update->changed);
    } else {
      const auto& finish = std::get<FinishPreparation>(step);
      absl::StrAppendFormat(&text, "FinishResizePreparation order=%d return_code=%d\n",
                            finish.order, finish.return_code);
    }
  }
  return text;
}

std::vector<uint64_t> ReadTable(hcall::Partition& partition) {
  std::vector<uint64_t> words;
  const uint64_t entries = uint64_t{1} << (partition.order() - 4);
  words.reserve(2 * entries);
  for (uint64_t ptex = 0; ptex < entries; ptex += 4) {
    const hcall::HcallRequest request{.opcode = hcall::kHRead, .registers = {kRead4, ptex}};
    const hcall::HcallResult result = hcall::Dispatch(partition, request);
    words.insert(words.end(), result.registers.begin(), result.registers.begin() + 8);
  }
  return words;
}

}  // namespace papr::model

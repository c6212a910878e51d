#include "tests/linearizability/history.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "hcall/dispatch.h"

namespace papr::linearizability {
namespace {

std::string Hex(std::span<const uint64_t> words) {
  return absl::StrJoin(words, ", ", [](std::string* out, uint64_t word) {
    absl::StrAppend(out, word == 0 ? "0" : absl::StrFormat("0x%x", word));
  });
}

}  // namespace

void Recorder::Run(const Action& action) {
  if (action.walk.has_value()) {
    Walk(*action.walk);
  } else {
    Call(action.hcalls);
  }
}

void Recorder::Walk(const hcall::ReferenceChange& walk) {
  Operation operation;
  operation.thread = thread_;
  operation.walk = walk;
  size_t applied = 0;
  operation.called = clock_.fetch_add(1);
  operation.walk_found = partition_.SetReferenceChange({&walk, 1}, &applied).ok();
  operation.returned = clock_.fetch_add(1);
  recorded_.push_back(operation);
}

void Recorder::Call(const std::vector<hcall::HcallRequest>& hcalls) {
  std::vector<hcall::HcallResult> results(hcalls.size());
  const uint64_t called = clock_.fetch_add(1);
  if (hcalls.size() == 1) {
    results[0] = hcall::Dispatch(partition_, hcalls[0]);
  } else {
    hcall::DispatchBatch(partition_, hcalls, hcall::BatchMode::kAll, results);
  }
  const uint64_t returned = clock_.fetch_add(1);
  for (size_t i = 0; i < hcalls.size(); ++i) {
    Operation operation;
    operation.thread = thread_;
    operation.called = called;
    operation.returned = returned;
    if (i > 0) operation.after = static_cast<int>(recorded_.size()) - 1;
    operation.request = hcalls[i];
    operation.result = results[i];
    recorded_.push_back(operation);
  }
}

void Recorder::MoveTo(History& history) {
  const int offset = static_cast<int>(history.size());
  for (Operation& operation : recorded_) {
    if (operation.after >= 0) operation.after += offset;
    history.push_back(operation);
  }
  recorded_.clear();
}

std::string Describe(const Operation& operation) {
  std::string out =
      absl::StrFormat("t%d [%d,%d] ", operation.thread, operation.called, operation.returned);
  if (operation.walk.has_value()) {
    const hcall::ReferenceChange& walk = *operation.walk;
    absl::StrAppend(&out, "table walk(", Hex({&walk.ptex, 1}), walk.referenced ? ", R" : "",
                    walk.changed ? ", C" : "", ") = ", operation.walk_found ? "set" : "no entry");
    return out;
  }
  const hcall::Registers& in = operation.request.registers;
  size_t count = in.size();
  while (count > 0 && in[count - 1] == 0) --count;
  const std::string_view name = hcall::OpcodeName(operation.request.opcode);
  absl::StrAppend(&out, absl::string_view(name.data(), name.size()), "(",
                  Hex(std::span(in).first(count)),
                  ") = ", hcall::ReturnCodeName(operation.result.return_code));
  if (operation.result.output_count > 0) {
    const auto outputs = std::span(operation.result.registers)
                             .first(static_cast<size_t>(operation.result.output_count));
    absl::StrAppend(&out, " (", Hex(outputs), ")");
  }
  return out;
}

}  // namespace papr::linearizability

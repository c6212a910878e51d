// Hcall scripts: cases written as data, each a partition, hypercalls in order and what they must
// return. tests/conformance/vectors/README.md has the grammar. A script is parsed for one column:
// lines meant for others are gone, loops are unrolled and every value is a number.

#ifndef CLIENT_CONFORMANCE_SCRIPT_H_
#define CLIENT_CONFORMANCE_SCRIPT_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "client/conformance/column.h"
#include "hcall/abi.h"
#include "hcall/partition_config.h"
#include "mmu/hpte.h"

namespace papr::conformance {

// What an hcall must give back: one `->` line.
struct Expectation {
  int line = 0;
  std::vector<int64_t> return_codes;  // any of them
  // By register from R4: any of these values; empty if the register does not matter.
  std::array<std::vector<uint64_t>, hcall::kRegisterCount> registers;
  bool rest_same = false;  // every register not named above keeps its argument
  bool any = false;        // nothing is promised
  bool crash = false;      // the implementation does not survive the call
  std::string defect;      // the name of the fault that this answer is, if it is one
};

struct CallStep {
  hcall::HcallRequest request;
  bool poll = false;  // call again while the answer is a long-busy code or H_CONTINUE
  std::vector<Expectation> expectations;
};
struct TouchStep {  // a table walk sets R, C or both
  uint64_t ptex = 0;
  bool referenced = false;
  bool changed = false;
};
struct FinishStep {  // the preparation of a resize ends
  int order = 0;
  int64_t return_code = 0;
};
struct ResetStep {};   // machine reset
struct AssertStep {};  // numbers of the script, compared when it was parsed
struct ExpectEntryStep {
  uint64_t ptex = 0;
  mmu::Hpte hpte;
};
struct ExpectValidStep {
  uint64_t count = 0;
};
struct ExpectOrderStep {
  int order = 0;
};

struct Step {
  int line = 0;
  std::string text;    // as written, with the values of loop variables
  std::string defect;  // of an "expect" that expects one
  std::variant<CallStep, TouchStep, FinishStep, ResetStep, AssertStep, ExpectEntryStep,
               ExpectValidStep, ExpectOrderStep>
      action;
};

struct Case {
  int line = 0;
  std::string name;
  std::string spec;  // the partition, as one line of text (hcall/partition_spec.h), with profile
  // The same. Of profile kvm-hv where the column is papr, which hptd has no profile for.
  hcall::PartitionConfig config;
  std::vector<Step> steps;
};

struct Script {
  std::map<std::string, std::string> defects;  // name -> what is wrong, for people
  std::vector<Case> cases;
};

// What `text` says in `column`. INVALID_ARGUMENT: a malformed line, by number.
absl::StatusOr<Script> ParseScript(std::string_view text, Column column);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_SCRIPT_H_

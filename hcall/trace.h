// The record and replay format: a text line for each hypercall of a guest, each reference or change
// update of its table walks and each checkpoint, with the results that the recorded hypervisor
// gave. The format is described in tests/conformance/traces/README.md.
//
// TraceReader is for one thread.

#ifndef HCALL_TRACE_H_
#define HCALL_TRACE_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "hcall/abi.h"
#include "hcall/partition_config.h"
#include "mmu/hpte.h"

namespace papr::hcall {

struct TraceAllocate {
  int order;
  mmu::Hpte ground;
};  // A
struct TraceInitial {
  uint64_t ptex;
  mmu::Hpte hpte;
};  // I
struct TraceFree {
  int order;
};                   // F
struct TraceHcall {  // H
  int cpu = 0;
  uint64_t opcode = 0;
  int argument_count = 0;
  int output_count = 0;
  Registers arguments{};
  int64_t return_code = 0;
  Registers outputs{};
};
struct TraceEntry {
  uint64_t ptex;
  mmu::Hpte hpte;
};  // E
struct TraceWalk {
  int cpu;
  uint64_t ptex;
  bool change;
};  // R, C
struct TracePrepared {
  int order;
  int64_t return_code;
};  // P
struct TraceCheckpoint {
  uint64_t valid;
  uint64_t digest;
};  // K
struct TraceOther {
  uint64_t opcode;
  uint64_t count;
};  // O
struct TraceMark {
  std::string text;
};  // M

using TraceRecord = std::variant<TraceAllocate, TraceInitial, TraceFree, TraceHcall, TraceEntry,
                                 TraceWalk, TracePrepared, TraceCheckpoint, TraceOther, TraceMark>;

// Header lines, in order: key and value.
struct TraceHeader {
  std::vector<std::pair<std::string, std::string>> lines;

  // First value of `key`, or empty.
  std::string_view Get(std::string_view key) const;
  // The partition that the recorded machine was: profile, order at start, RAM (with the hot-add
  // area as RAM), page sizes, resize MANUAL. INVALID_ARGUMENT: the header does not give it.
  absl::StatusOr<PartitionConfig> ToPartitionConfig() const;
};

class TraceReader {
 public:
  // Reads from `input`, which must outlive the reader. INVALID_ARGUMENT: no trace of a known
  // version.
  static absl::StatusOr<TraceReader> Open(std::istream& input);

  const TraceHeader& header() const { return header_; }
  // Line of the record that Next() gave last, from 1.
  uint64_t line_number() const { return line_number_; }
  // The next record, or nothing at the end. INVALID_ARGUMENT: a malformed line, by number.
  absl::StatusOr<std::optional<TraceRecord>> Next();

 private:
  explicit TraceReader(std::istream& input) : input_(&input) {}

  std::istream* input_;
  TraceHeader header_;
  std::string line_;
  bool have_line_ = false;
  uint64_t line_number_ = 0;
};

// The table at the end of a trace.
struct TraceFinal {
  int order = 0;
  mmu::Hpte ground;
  std::vector<std::pair<uint64_t, mmu::Hpte>> entries;  // that differ from the ground, ascending
  uint64_t valid = 0;
};
absl::StatusOr<TraceFinal> ReadTraceFinal(std::istream& input);

// The digest term of one valid entry; the digest is the sum modulo 2^64 over all.
constexpr uint64_t DigestTerm(uint64_t ptex, const mmu::Hpte& hpte) {
  return ((hpte.v & ~mmu::kVHypervisor) * 0x9E3779B97F4A7C15 + hpte.r * 0xC2B2AE3D27D4EB4F) *
         (2 * ptex + 1);
}

}  // namespace papr::hcall

#endif  // HCALL_TRACE_H_

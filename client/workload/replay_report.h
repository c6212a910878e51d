// What a replay found: every difference between what was recorded and what came back, in words.

#ifndef CLIENT_WORKLOAD_REPLAY_REPORT_H_
#define CLIENT_WORKLOAD_REPLAY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hcall/abi.h"
#include "hcall/trace.h"
#include "mmu/hpte.h"

namespace papr::client {

struct Mismatch {
  std::string file;   // the trace, or the final table
  uint64_t line = 0;  // of `file`, from 1; 0: an entry that the final table does not list
  std::string what;   // the record, decoded
  std::string expected;
  std::string got;
};

struct ReplayReport {
  std::string trace;    // path
  std::string name;     // from the header
  std::string profile;  // "kvm-hv", "qemu-tcg"
  std::string target;   // "local", or the daemon's address
  size_t batch = 0;     // hcalls a round trip at most

  uint64_t records = 0;
  uint64_t hcalls = 0;            // recorded ones
  uint64_t initial_entries = 0;   // I
  uint64_t entries_compared = 0;  // E
  uint64_t walks = 0;             // R and C
  uint64_t checkpoints = 0;       // K
  uint64_t preparations = 0;      // P
  uint64_t resets = 0;            // A after the first

  bool final_compared = false;  // false: no final table stood beside the trace
  uint64_t final_entries = 0;   // entries of the table compared with it, the unlisted ones included

  uint64_t round_trips = 0;
  double seconds = 0;

  uint64_t mismatches = 0;      // all of them
  std::vector<Mismatch> first;  // the first ones, up to the limit asked for
};

// "H_ENTER(flags=0x0, ptex=0x1000, v=0x..., r=0x...)".
std::string DescribeCall(uint64_t opcode, const hcall::Registers& arguments, int count);
// "H_SUCCESS 0x1 0x2".
std::string DescribeResult(int64_t return_code, const hcall::Registers& outputs, int count);
// "v=0x... r=0x... (valid bolted secondary large R C)".
std::string DescribeHpte(const mmu::Hpte& hpte);
// "trace:line: what: expected ..., got ...".
std::string DescribeMismatch(const Mismatch& mismatch);
// One line: what was compared, and the verdict.
std::string DescribeReport(const ReplayReport& report);

}  // namespace papr::client

#endif  // CLIENT_WORKLOAD_REPLAY_REPORT_H_

// One partition of the engine and one of the reference model, driven by the same steps: says where
// they differ first. One thread at a time.

#ifndef TESTS_MODEL_COMPARISON_H_
#define TESTS_MODEL_COMPARISON_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hcall/abi.h"
#include "hcall/guest_memory.h"
#include "hcall/partition.h"
#include "hcall/partition_config.h"
#include "tests/model/random_hcalls.h"
#include "tests/model/reference_model.h"

namespace papr::model {

// Guest memory that only remembers what was asked of it.
class MemoryLog : public hcall::GuestMemory {
 public:
  struct Access {
    uint64_t destination = 0;
    uint64_t source = 0;
    uint64_t bytes = 0;
    bool copies = false;

    friend bool operator==(const Access&, const Access&) = default;
  };

  void Zero(uint64_t address, uint64_t bytes) override;
  void Copy(uint64_t destination, uint64_t source, uint64_t bytes) override;
  // What was asked since the last call.
  std::vector<Access> Take() { return std::exchange(accesses_, {}); }

 private:
  std::vector<Access> accesses_;
};

enum class WithMemory : bool { kNo, kYes };

class Comparison {
 public:
  // `config` must be valid, and prepare resizes manually. kYes: both partitions write to a
  // MemoryLog, and what they write is compared.
  Comparison(const hcall::PartitionConfig& config, WithMemory with_memory);

  const ReferenceModel& model() const { return model_; }
  hcall::Partition& engine() { return *engine_; }

  // The functions below return what differs, in readable form, or an empty text.

  // Runs one step on both and compares return code, outputs, every register and guest memory.
  std::string Run(const Step& step);
  // Compares orders, counts, digest and the pending resize.
  std::string CompareStatistics() const;
  // Compares every entry, read by H_READ, and the fill of the PTEGs. A table of more than 2^21
  // bytes is compared where the model has valid entries.
  std::string CompareTables();

  // The last steps, oldest first, one a line.
  std::string LastSteps() const;
  uint64_t hcalls() const { return hcalls_; }
  // How often a call gave a return code. Calls that have no name are counted as "other".
  const std::map<std::pair<std::string, int64_t>, uint64_t>& counts() const { return counts_; }

 private:
  std::string RunHcall(const hcall::HcallRequest& request);
  std::string NameOf(uint64_t opcode) const;

  std::shared_ptr<MemoryLog> engine_memory_;
  std::shared_ptr<MemoryLog> model_memory_;
  std::unique_ptr<hcall::Partition> engine_;
  ReferenceModel model_;
  uint64_t hash_base_;
  uint64_t hcalls_ = 0;
  std::deque<Step> last_steps_;
  std::map<std::pair<std::string, int64_t>, uint64_t> counts_;
};

// All words of a partition's table as H_READ gives them: V and R of entry 0, of entry 1, ...
// Requires a hash partition.
std::vector<uint64_t> ReadTable(hcall::Partition& partition);

}  // namespace papr::model

#endif  // TESTS_MODEL_COMPARISON_H_

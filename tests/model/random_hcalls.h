// Random hypercalls for a comparison of two implementations: partly any 64-bit values in any
// register of any opcode, partly calls that belong together, on a few PTEGs, so that groups fill,
// calls find what earlier ones entered, blocks are whole and resizes move bolted entries.
//
// The same seed, configuration and states give the same steps on every machine. One thread at a
// time.

#ifndef TESTS_MODEL_RANDOM_HCALLS_H_
#define TESTS_MODEL_RANDOM_HCALLS_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <random>
#include <variant>
#include <vector>

#include "hcall/abi.h"
#include "hcall/partition.h"
#include "hcall/partition_config.h"
#include "tests/model/reference_model.h"

namespace papr::model {

// The operator ends the preparation of a resize.
struct FinishPreparation {
  int order = 0;
  int64_t return_code = hcall::kHSuccess;
};

using Step = std::variant<hcall::HcallRequest, hcall::ReferenceChange, FinishPreparation>;

class RandomHcalls {
 public:
  RandomHcalls(uint64_t seed, const hcall::PartitionConfig& config);

  // The next step for a partition that stands as `state` does.
  Step Next(const ReferenceModel& state);

 private:
  static constexpr uint64_t kPagesInBlock = 8;

  // Eight neighbouring base pages of one segment, aligned. Their primary groups are neighbours,
  // too.
  struct Block {
    mmu::PageSizes sizes;
    uint64_t lp = 0;
    VirtualPage first;
  };
  struct Place {
    uint64_t ptex = 0;
    uint64_t avpn = 0;
  };

  uint64_t Below(uint64_t bound) { return rng_() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Below(values.size())];
  }
  // Some of the bits of `mask`, each with the chance of 1 in 2.
  uint64_t SomeBits(uint64_t mask) { return rng_() & mask; }
  // 0, small numbers, sizes of the table, all ones, single bits and their neighbours.
  uint64_t Boundary(const ReferenceModel& state);

  void MakeBlocks(const hcall::PartitionConfig& config);
  const Block& AnyBlock() { return blocks_[Below(blocks_.size())]; }
  static VirtualPage PageOf(const Block& block, uint64_t index);
  // Real address of a page, in RAM more often than not, with the storage control that fits.
  uint64_t RealAddressAndWimg(int actual_shift);
  uint64_t RandomR(const Block& block);

  // Where page `index` of `block`, or of the next block from 8 on, stands, or else a slot where it
  // might.
  Place FindPage(const ReferenceModel& state, const Block& block, uint64_t index);
  // Any entry of the busy groups, present if there is one; sometimes a boundary instead.
  Place AnyPlace(const ReferenceModel& state);
  // An AVPN argument for `place`, now and then one that does not match.
  uint64_t AvpnArgument(const Place& place);

  using Registers = hcall::Registers;
  Step Wild(const ReferenceModel& state);
  uint64_t WildOpcode();
  uint64_t WildRegister(const ReferenceModel& state);
  Step Structured(const ReferenceModel& state);
  Registers Enter(const ReferenceModel& state);
  // Plans to enter all pages of a block and some of the next, for H_BLOCK_REMOVE to find, and
  // begins.
  Step FillBlock(const ReferenceModel& state);
  Registers Remove(const ReferenceModel& state);
  Registers Read(const ReferenceModel& state);
  Registers Protect(const ReferenceModel& state);
  Registers Clear(const ReferenceModel& state);
  Registers BulkRemove(const ReferenceModel& state);
  Registers BlockRemove(const ReferenceModel& state);
  uint64_t BlockSpecifier(const ReferenceModel& state, uint64_t ptex);
  Registers HashRemove();
  Registers HashProtect();
  Registers HashBulkRemove();
  Registers PageInit();
  Step Resize(const ReferenceModel& state);
  uint64_t ProtectionFlags();
  uint64_t SomeHash(const VirtualPage& page);

  std::mt19937_64 rng_;
  std::vector<hcall::MemoryRegion> memory_;
  std::vector<mmu::PageSizes> block_remove_sizes_;
  std::vector<Block> blocks_;
  size_t filled_ = 0;              // the block that was filled last
  std::deque<Step> planned_;       // to come before anything else
  std::vector<uint64_t> opcodes_;  // of every call there is, with this partition's H_HASH_* numbers
  uint64_t hash_base_;
};

}  // namespace papr::model

#endif  // TESTS_MODEL_RANDOM_HCALLS_H_

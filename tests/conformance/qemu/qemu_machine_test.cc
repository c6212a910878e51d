// The QEMU machine: its hcalls, its table at every order, accesses through the MMU, and its end.

#include "tests/conformance/qemu/qemu_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

#include "hcall/abi.h"
#include "hcall/partition_spec.h"
#include "hcall/trace.h"
#include "mmu/virtual_address.h"
#include "tests/conformance/qemu/qemu_pool.h"

namespace papr::conformance {
namespace {

using client::MakeHcall;
using hcall::HcallResult;
using testing::HasSubstr;

constexpr std::string_view kOrder18 =
    "order=18,ram=0:256M,profile=qemu-tcg,page-sizes=qemu,resize=background";
// Page 0x3ab000 of VSID 0x123456, its primary group, and page 0x1234000 of RAM, read and write.
constexpr uint64_t kV = 0x0000000123456001;
constexpr uint64_t kAvpn = 0x0000000123456000;
constexpr uint64_t kPtex = 0x3fe8;
constexpr uint64_t kR = 0x0000000001234012;
constexpr uint64_t kReadOnly = 0x3;  // pp, or-ed into kR
constexpr uint64_t kSoftware = mmu::kVSoftwareDirty;
const mmu::Hpte kFresh = {kSoftware, 0};

hcall::PartitionConfig Config(std::string_view spec) {
  auto parsed = hcall::ParsePartitionSpec(spec);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->config;
}

class QemuMachineTest : public testing::Test {
 protected:
  // All tests of this process share what the pool keeps.
  static QemuPool& pool() {
    static QemuPool pool;
    return pool;
  }

  std::unique_ptr<QemuMachine> Make(std::string_view spec) {
    auto machine = QemuMachine::Create(&pool(), Config(spec));
    EXPECT_TRUE(machine.ok()) << machine.status();
    return machine.ok() ? *std::move(machine) : nullptr;
  }

  static HcallResult Call(QemuMachine& machine, uint64_t opcode,
                          std::initializer_list<uint64_t> arguments) {
    auto result = machine.Hcall(MakeHcall(opcode, arguments));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(HcallResult{.return_code = hcall::kHHardware});
  }

  static int64_t Enter(QemuMachine& machine, uint64_t ptex, uint64_t v, uint64_t r) {
    return Call(machine, hcall::kHEnter, {hcall::kFlagExact, ptex, v, r}).return_code;
  }

  static mmu::Hpte Read(QemuMachine& machine, uint64_t ptex) {
    const HcallResult result = Call(machine, hcall::kHRead, {0, ptex});
    return {result.registers[0], result.registers[1]};
  }

  static int64_t Prepare(QemuMachine& machine, uint64_t order) {
    int64_t code;
    do {
      code = Call(machine, hcall::kHResizeHptPrepare, {0, order}).return_code;
    } while (hcall::IsLongBusy(code));
    return code;
  }

  static void ExpectFresh(QemuMachine& machine) {
    const auto table = machine.ReadTable();
    ASSERT_TRUE(table.ok()) << table.status();
    ASSERT_EQ(table->size(), uint64_t{1} << (machine.order() - 4));
    for (uint64_t ptex = 0; ptex < table->size(); ++ptex) {
      ASSERT_EQ((*table)[ptex], kFresh) << "at " << ptex;
    }
  }
};

TEST_F(QemuMachineTest, EntersReadsAndRemoves) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  EXPECT_EQ(machine->order(), 18);
  ExpectFresh(*machine);
  const HcallResult entered =
      Call(*machine, hcall::kHEnter, {0, kPtex + 5, kV, kR, 8, 9, 10, 11, 12});
  EXPECT_EQ(entered.return_code, hcall::kHSuccess);
  EXPECT_EQ(entered.output_count, 1);
  EXPECT_EQ(entered.registers, (hcall::Registers{kPtex, kPtex + 5, kV, kR, 8, 9, 10, 11, 12}));
  EXPECT_EQ(Read(*machine, kPtex), (mmu::Hpte{kV | kSoftware, kR}));
  const HcallResult removed = Call(*machine, hcall::kHRemove, {hcall::kFlagAvpn, kPtex, kAvpn});
  EXPECT_EQ(removed.return_code, hcall::kHSuccess);
  EXPECT_EQ(removed.registers[1], kR);
  EXPECT_EQ(Call(*machine, hcall::kHRead, {0, 0x4000}).return_code, hcall::kHParameter);
  EXPECT_EQ(Call(*machine, hcall::kHClearMod, {0, kPtex}).return_code, hcall::kHFunction);
  ExpectFresh(*machine);
}

TEST_F(QemuMachineTest, CountsWhatIsInTheTable) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  EXPECT_EQ(Enter(*machine, kPtex, kV, kR), hcall::kHSuccess);
  EXPECT_EQ(Enter(*machine, 0x10, kV | mmu::kVBolted | mmu::kVSecondary, kR), hcall::kHSuccess);
  const auto statistics = machine->GetStatistics();
  ASSERT_TRUE(statistics.ok()) << statistics.status();
  EXPECT_EQ(statistics->order, 18);
  EXPECT_EQ(statistics->valid, 2);
  EXPECT_EQ(statistics->bolted, 1);
  EXPECT_EQ(statistics->secondary, 1);
  EXPECT_EQ(statistics->large, 0);
  EXPECT_EQ(statistics->pteg_fill[0], 2046);
  EXPECT_EQ(statistics->pteg_fill[1], 2);
  EXPECT_EQ(statistics->digest,
            hcall::DigestTerm(kPtex, {kV, kR}) +
                hcall::DigestTerm(0x10, {kV | mmu::kVBolted | mmu::kVSecondary, kR}));
}

TEST_F(QemuMachineTest, IsFreshAfterAReset) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  EXPECT_EQ(Enter(*machine, kPtex, kV, kR), hcall::kHSuccess);
  EXPECT_EQ(Prepare(*machine, 19), hcall::kHSuccess);
  ASSERT_TRUE(machine->Reset(std::nullopt).ok());
  ExpectFresh(*machine);
  EXPECT_EQ(Call(*machine, hcall::kHResizeHptCommit, {0, 19}).return_code, hcall::kHClosed);
  ASSERT_TRUE(machine->Reset(20).ok());
  EXPECT_EQ(machine->order(), 20);
  ExpectFresh(*machine);
  ASSERT_TRUE(machine->Reset(21).ok());  // QEMU's own for this RAM
  ExpectFresh(*machine);
}

TEST_F(QemuMachineTest, FollowsResizes) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  EXPECT_EQ(Prepare(*machine, 20), hcall::kHSuccess);
  EXPECT_EQ(machine->GetStatistics()->pending_order, 20);
  EXPECT_TRUE(machine->GetStatistics()->pending_ready);
  EXPECT_EQ(Call(*machine, hcall::kHResizeHptCommit, {0, 19}).return_code, hcall::kHClosed);
  EXPECT_EQ(machine->order(), 18);
  EXPECT_EQ(Call(*machine, hcall::kHResizeHptCommit, {0, 20}).return_code, hcall::kHSuccess);
  EXPECT_EQ(machine->order(), 20);
  EXPECT_EQ(machine->GetStatistics()->pending_order, std::nullopt);
}

TEST_F(QemuMachineTest, AnAccessSetsReferenceAndChange) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  EXPECT_EQ(Enter(*machine, kPtex, kV, kR), hcall::kHSuccess);
  const std::vector<hcall::ReferenceChange> load = {{kPtex, true, false}};
  const std::vector<hcall::ReferenceChange> store = {{kPtex, false, true}};
  EXPECT_TRUE(absl::IsUnimplemented(machine->SetReferenceChange(store)));
  EXPECT_EQ(machine->SetReferenceChange(load), absl::OkStatus());
  EXPECT_EQ(Read(*machine, kPtex).r, kR | mmu::kRReferenced);
  EXPECT_EQ(machine->SetReferenceChange(store), absl::OkStatus());
  EXPECT_EQ(Read(*machine, kPtex).r, kR | mmu::kRReferenced | mmu::kRChanged);
  const std::vector<hcall::ReferenceChange> absent = {{kPtex + 1, true, false}};
  EXPECT_TRUE(absl::IsFailedPrecondition(machine->SetReferenceChange(absent)));
  const std::vector<hcall::ReferenceChange> outside = {{0x4000, true, false}};
  EXPECT_TRUE(absl::IsOutOfRange(machine->SetReferenceChange(outside)));
}

TEST_F(QemuMachineTest, AnAccessReachesTheByteOfItsPage) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  EXPECT_EQ(Enter(*machine, kPtex, kV, kR), hcall::kHSuccess);
  auto access = machine->AccessThrough(kPtex, {kV, kR});
  ASSERT_TRUE(access.ok());
  access->effective_address |= 0xabc;
  machine->ram()[0x1234abc] = std::byte{0x5a};
  access->kind = ACCESS_LOAD;
  EXPECT_EQ(machine->Access(*access)->byte, 0x5a);
  access->kind = ACCESS_STORE;
  access->byte = 0xa5;
  EXPECT_EQ(machine->Access(*access)->interrupt, 0);
  EXPECT_EQ(machine->ram()[0x1234abc], std::byte{0xa5});
}

TEST_F(QemuMachineTest, ADeniedStoreSetsNeither) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  const mmu::Hpte read_only = {kV, kR | kReadOnly};
  EXPECT_EQ(Enter(*machine, kPtex, read_only.v, read_only.r), hcall::kHSuccess);
  auto access = machine->AccessThrough(kPtex, read_only);
  ASSERT_TRUE(access.ok());
  machine->ram()[0x1234000] = std::byte{1};
  access->kind = ACCESS_STORE;
  access->byte = 2;
  const auto denied = machine->Access(*access);
  ASSERT_TRUE(denied.ok()) << denied.status();
  EXPECT_EQ(denied->interrupt, 0x300) << denied->Describe();
  EXPECT_EQ(denied->dsisr, 0x0a000000);
  EXPECT_EQ(denied->dar, access->effective_address);
  EXPECT_EQ(machine->ram()[0x1234000], std::byte{1});
  EXPECT_EQ(Read(*machine, kPtex).r, read_only.r);

  const std::vector<hcall::ReferenceChange> store = {{kPtex, true, true}};
  const absl::Status status = machine->SetReferenceChange(store);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.ToString(), HasSubstr("interrupt 0x300, DSISR 0x0a000000"));
}

TEST_F(QemuMachineTest, ARemovedTranslationWorksNoMore) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  EXPECT_EQ(Enter(*machine, kPtex, kV, kR), hcall::kHSuccess);
  auto access = machine->AccessThrough(kPtex, {kV, kR});
  access->kind = ACCESS_STORE_BACK;
  EXPECT_EQ(machine->Access(*access)->interrupt, 0);
  EXPECT_EQ(Call(*machine, hcall::kHRemove, {0, kPtex}).registers[1],
            kR | mmu::kRReferenced | mmu::kRChanged);
  const auto missing = machine->Access(*access);
  EXPECT_EQ(missing->interrupt, 0x300) << missing->Describe();
  EXPECT_EQ(missing->dsisr, 0x40000000);  // the load faults already
}

// Every page size of both machines, both segment sizes, both groups.
TEST_F(QemuMachineTest, AccessesEveryKindOfPage) {
  auto machine = Make(
      "order=18,ram=0:256M,profile=qemu-tcg,page-match=whole,page-sizes="
      "4K/0/4K:0/16M:38;64K/110/64K:1/16M:8;16M/100/16M:0");
  ASSERT_NE(machine, nullptr);
  for (const mmu::SegmentPageSize& segment : QemuLargePages().segments()) {
    for (const auto& encoding : segment.encodings) {
      for (const mmu::SegmentSize size : {mmu::SegmentSize::k256M, mmu::SegmentSize::k1T}) {
        for (const bool secondary : {false, true}) {
          const mmu::VirtualAddress va{size, 0x123456, uint64_t{0xd} << mmu::k16M};
          const uint64_t hash = mmu::Hash(va, segment.base);
          const uint64_t group = (secondary ? ~hash : hash) & 0x7ff;
          mmu::Hpte hpte;
          hpte.v = mmu::AvpnWord(va, segment.base) | mmu::kVValid |
                   (secondary ? mmu::kVSecondary : 0) |
                   (encoding.actual > mmu::k4K ? mmu::kVLarge : 0);
          hpte.r = mmu::EncodeR(0x4000000, encoding.actual, encoding.lp, 0x12);
          const uint64_t ptex = group * 8 + 3;
          EXPECT_EQ(Enter(*machine, ptex, hpte.v, hpte.r), hcall::kHSuccess);
          const std::vector<hcall::ReferenceChange> store = {{ptex, true, true}};
          EXPECT_EQ(machine->SetReferenceChange(store), absl::OkStatus())
              << segment.base << " " << encoding.actual << " " << secondary;
          EXPECT_EQ(Call(*machine, hcall::kHRemove, {0, ptex}).return_code, hcall::kHSuccess);
        }
      }
    }
  }
}

TEST_F(QemuMachineTest, PageInitWritesMemory) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  const std::span<std::byte> page = machine->ram().subspan(0x5000, 0x1000);
  const std::span<std::byte> other = machine->ram().subspan(0x7000, 0x1000);
  std::fill(page.begin(), page.end(), std::byte{0x11});
  std::fill(other.begin(), other.end(), std::byte{0x22});
  EXPECT_EQ(Call(*machine, hcall::kHPageInit, {hcall::kFlagCopyPage, 0x7000, 0x5000}).return_code,
            hcall::kHSuccess);
  EXPECT_THAT(other, testing::Each(std::byte{0x11}));
  EXPECT_EQ(Call(*machine, hcall::kHPageInit, {hcall::kFlagZeroPage, 0x5000}).return_code,
            hcall::kHSuccess);
  EXPECT_THAT(page, testing::Each(std::byte{0}));
  EXPECT_THAT(other, testing::Each(std::byte{0x11}));
}

TEST_F(QemuMachineTest, AnEndOfQemuIsReportedAndTheNextMachineWorks) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  // A bolted entry in its secondary group, which QEMU's resize does not expect.
  EXPECT_EQ(Enter(*machine, 0x2810, kV | mmu::kVBolted | mmu::kVSecondary, kR), hcall::kHSuccess);
  EXPECT_EQ(Prepare(*machine, 19), hcall::kHSuccess);
  const auto committed = machine->Hcall(MakeHcall(hcall::kHResizeHptCommit, {0, 19}));
  EXPECT_TRUE(absl::IsAborted(committed.status())) << committed.status();
  EXPECT_THAT(committed.status().ToString(), HasSubstr("rehash_hpte"));
  EXPECT_TRUE(absl::IsAborted(machine->Hcall(MakeHcall(hcall::kHRead, {})).status()));
  machine.reset();
  machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  ExpectFresh(*machine);
}

TEST_F(QemuMachineTest, DeniesResizesIfAsked) {
  auto machine = Make("order=21,ram=0:256M,profile=qemu-tcg,page-sizes=qemu,resize=denied");
  ASSERT_NE(machine, nullptr);
  ExpectFresh(*machine);
  EXPECT_EQ(Call(*machine, hcall::kHResizeHptPrepare, {0, 19}).return_code, hcall::kHAuthority);
  EXPECT_EQ(Call(*machine, hcall::kHResizeHptCommit, {0, 19}).return_code, hcall::kHAuthority);
}

TEST_F(QemuMachineTest, SaysWhatQemuCannotBe) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {"profile=kvm-hv", "profile"},
      {"profile=qemu-tcg,page-sizes=power", "page sizes"},
      {"profile=qemu-tcg,page-sizes=qemu,ram=0:64M", "RAM of"},
      {"profile=qemu-tcg,page-sizes=qemu,ram=0:256M,ram=1G:256M", "second RAM region"},
      {"profile=qemu-tcg,page-sizes=qemu,ram=4G:256M", "begin at 0"},
      {"profile=qemu-tcg,page-sizes=qemu,resize=manual", "operator"},
      {"profile=qemu-tcg,page-sizes=qemu,strict-flags=true", "strict flags"},
      {"profile=qemu-tcg,page-sizes=qemu,mmu=radix", "radix"},
      {"profile=qemu-tcg,page-sizes=qemu,processor=power9", "power8"},
      {"profile=qemu-tcg,page-sizes=qemu,no-bulk-remove", "H_BULK_REMOVE"},
      {"profile=qemu-tcg,page-sizes=qemu,order=18,max-order=19", "maximal order"},
      {"profile=qemu-tcg,page-sizes=qemu,order=18,resize=denied", "order 18"},
      {"profile=qemu-tcg,page-sizes=qemu,order=26", "order 26"},
  };
  for (const auto& [spec, named] : cases) {
    const auto machine = QemuMachine::Create(&pool(), Config(spec));
    EXPECT_TRUE(absl::IsUnimplemented(machine.status())) << spec << ": " << machine.status();
    EXPECT_THAT(machine.status().ToString(), HasSubstr(named)) << spec;
  }
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  EXPECT_TRUE(absl::IsUnimplemented(machine->Hcall({.problem_state = true}).status()));
  EXPECT_TRUE(absl::IsUnimplemented(machine->FinishResizePreparation(18, 0)));
  EXPECT_TRUE(absl::IsUnimplemented(machine->Check(1).status()));
  EXPECT_TRUE(absl::IsUnimplemented(machine->GetDeviceTree().status()));
}

TEST_F(QemuMachineTest, RunsBatches) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  auto guest = machine->MakeHypervisor();
  std::vector<hcall::HcallRequest> requests;
  for (uint64_t i = 0; i < 20'000; ++i) {  // more than fit into one request to the guest program
    requests.push_back(MakeHcall(hcall::kHRead, {0, i, i + 1, i + 2}));
  }
  std::vector<HcallResult> results;
  ASSERT_EQ(guest->HcallBatch(requests, hcall::BatchMode::kAll, &results), absl::OkStatus());
  ASSERT_EQ(results.size(), requests.size());
  EXPECT_EQ(results[0x3fff].return_code, hcall::kHSuccess);
  EXPECT_EQ(results[0x3fff].registers, (hcall::Registers{kSoftware, 0, 0x4000, 0x4001}));
  EXPECT_EQ(results[0x4000].return_code, hcall::kHParameter);
  EXPECT_EQ(results[0x4000].registers, requests[0x4000].registers);

  ASSERT_EQ(guest->HcallBatch(requests, hcall::BatchMode::kStopAtFirstError, &results),
            absl::OkStatus());
  EXPECT_EQ(results.size(), 0x4001);
  requests.resize(2);
  requests[1].problem_state = true;
  EXPECT_TRUE(absl::IsUnimplemented(guest->HcallBatch(requests, hcall::BatchMode::kAll, &results)));
}

// The best of many: the others may have had to wait for a processor.
TEST_F(QemuMachineTest, AnHcallTakesFewMicroseconds) {
  auto machine = Make(kOrder18);
  ASSERT_NE(machine, nullptr);
  std::chrono::duration<double, std::micro> best = std::chrono::hours(1);
  for (int i = 0; i < 500; ++i) {
    const auto start = std::chrono::steady_clock::now();
    Call(*machine, hcall::kHRead, {0, kPtex});
    best = std::min<decltype(best)>(best, std::chrono::steady_clock::now() - start);
  }
  std::cout << best.count() << " us an hcall\n";
  EXPECT_LT(best.count(), 20'000);
}

}  // namespace
}  // namespace papr::conformance

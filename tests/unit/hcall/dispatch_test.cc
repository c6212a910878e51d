#include "hcall/dispatch.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/hcall/test_partition.h"

namespace papr::hcall {
namespace {

std::vector<HcallRequest> EnterReadBadEnter() {
  return {Request(kHEnter, {kFlagExact, 5, 0x1f81, 0xfff012}), Request(kHRead, {0, 5}),
          Request(kHRemove, {0, 0x4000, 0}), Request(kHEnter, {kFlagExact, 6, 0x1f81, 0xfff012})};
}

TEST(Dispatch, ABatchRunsInOrderAndToTheEnd) {
  const auto partition = MakePartition("order=18,ram=0:1G");
  const std::vector<HcallRequest> requests = EnterReadBadEnter();
  std::vector<HcallResult> results(requests.size());
  EXPECT_EQ(DispatchBatch(*partition, requests, BatchMode::kAll, results), 4u);
  EXPECT_EQ(results[0].return_code, kHSuccess);
  EXPECT_EQ(results[1].return_code, kHSuccess);
  EXPECT_EQ(results[1].registers[0], 0x1f81u);
  EXPECT_EQ(results[2].return_code, kHParameter);
  EXPECT_EQ(results[3].registers[0], 6u);
}

TEST(Dispatch, ABatchStopsAtTheFirstError) {
  const auto partition = MakePartition("order=18,ram=0:1G");
  const std::vector<HcallRequest> requests = EnterReadBadEnter();
  std::vector<HcallResult> results(requests.size());
  EXPECT_EQ(DispatchBatch(*partition, requests, BatchMode::kStopAtFirstError, results), 3u);
  EXPECT_EQ(results[2].return_code, kHParameter);
  EXPECT_EQ(partition->GetStatistics().valid, 1u);
  EXPECT_EQ(DispatchBatch(*partition, {}, BatchMode::kAll, results), 0u);
}

// Any mix of calls gives in one batch what it gives one by one.
TEST(Dispatch, ABatchIsTheSameAsSingleCalls) {
  const auto one = MakePartition("order=18,ram=0:1G");
  const auto many = MakePartition("order=18,ram=0:1G");
  std::vector<HcallRequest> requests;
  for (uint64_t i = 0; i < 100; ++i) {
    requests.push_back(Request(kHEnter, {0, i * 3, 0x1f81, 0xfff012}));
    if (i % 5 == 0) requests.push_back(Request(kHProtect, {3, i * 3, 0}));
    if (i % 7 == 0) requests.push_back(Request(kHRemove, {0, i * 3, 0}));
    if (i % 11 == 0) requests.push_back(Request(0x24, {1, 2, 3}));
  }
  std::vector<HcallResult> results(requests.size());
  ASSERT_EQ(DispatchBatch(*many, requests, BatchMode::kAll, results), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const HcallResult single = Dispatch(*one, requests[i]);
    EXPECT_EQ(single.return_code, results[i].return_code) << i;
    EXPECT_EQ(single.registers, results[i].registers) << i;
    EXPECT_EQ(single.output_count, results[i].output_count) << i;
  }
  EXPECT_EQ(one->GetStatistics().digest, many->GetStatistics().digest);
}

TEST(Dispatch, OutputCounts) {
  const auto partition = MakePartition("order=18,ram=0:1G");
  EXPECT_EQ(Call(*partition, kHEnter, {kFlagExact, 5, 0x1f81, 0xfff012}).output_count, 1);
  EXPECT_EQ(Call(*partition, kHRead, {0, 5}).output_count, 2);
  EXPECT_EQ(Call(*partition, kHRead, {kFlagRead4, 5}).output_count, 8);
  EXPECT_EQ(Call(*partition, kHClearRef, {0, 5}).output_count, 1);
  EXPECT_EQ(Call(*partition, kHProtect, {3, 5, 0}).output_count, 0);
  EXPECT_EQ(Call(*partition, kHRemove, {0, 5, 0}).output_count, 2);
  EXPECT_EQ(Call(*partition, kHRemove, {0, 5, 0}).output_count, 0);
  EXPECT_EQ(Call(*partition, kHBulkRemove, {0xc000000000000000}).output_count, 8);
  EXPECT_EQ(Call(*partition, 0x24, {}).output_count, 0);
}

// An hcall that waited for this thread to leave the partition would never return.
TEST(Dispatch, OnlyAResizeCommitRunsAlone) {
  const auto partition = MakePartition("order=18,ram=0:1G");
  const Quiescence::Shared inside(partition->quiescence());
  for (const uint64_t opcode : kServedOpcodes) {
    if (opcode != kHResizeHptCommit) Call(*partition, opcode, {});
  }
  EXPECT_EQ(Call(*partition, 0x24, {}).return_code, kHFunction);
}

TEST(Dispatch, HcallKinds) {
  const auto partition = MakePartition("order=18,ram=0:1G");
  std::set<int> kinds;
  for (const Opcode opcode : kServedOpcodes) {
    const int kind = HcallKind(*partition, opcode);
    EXPECT_GE(kind, 0);
    EXPECT_LT(kind, kOtherHcall);
    EXPECT_TRUE(kinds.insert(kind).second);
    EXPECT_EQ(OpcodeByName(HcallKindName(kind)), static_cast<uint64_t>(opcode));
  }
  EXPECT_EQ(HcallKindName(HcallKind(*partition, kHEnter)), "h_enter");
  for (const uint64_t opcode : {0x0ul, 0x05ul, 0x24ul, 0x100000008ul, ~0ul}) {
    EXPECT_EQ(HcallKind(*partition, opcode), kOtherHcall) << opcode;
  }
  EXPECT_EQ(HcallKindName(kOtherHcall), "other");
}

TEST(Dispatch, HashCallsKeepTheirKindWhenTheirOpcodesMove) {
  const auto partition = MakePartition("order=18,ram=0:1G,hash-opcode-base=0xf910");
  EXPECT_EQ(HcallKindName(HcallKind(*partition, 0xf910)), "h_hash_remove");
  EXPECT_EQ(HcallKindName(HcallKind(*partition, 0xf914)), "h_hash_protect");
  EXPECT_EQ(HcallKindName(HcallKind(*partition, 0xf918)), "h_hash_bulk_remove");
  EXPECT_EQ(HcallKind(*partition, 0xf900), kOtherHcall);
}

}  // namespace
}  // namespace papr::hcall

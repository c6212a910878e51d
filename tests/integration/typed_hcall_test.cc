// Every typed RPC does what the register form of its hcall does: the same calls go to two
// partitions that are alike, one in each form, and the answers and the tables stay the same.

#include <vector>

#include "hcall/abi.h"
#include "tests/integration/server_fixture.h"

namespace papr::server {
namespace {

using Words = std::vector<uint64_t>;

constexpr uint64_t kPpReadOnly = 3;

class TypedHcallTest : public ServerTest {
 protected:
  void SetUp() override {
    StartServer();
    v1::PartitionConfig config = SmallConfig();
    config.set_resize_preparation(v1::RESIZE_PREPARATION_MANUAL);
    config.set_hash_opcode_base(0xfa00);
    MustCreate("typed", config);
    MustCreate("registers", config);
  }

  // Issues `request` as the typed RPC and {opcode, arguments} as registers; returns both answers,
  // the one of the registers turned to words.
  template <typename Request, typename Response>
  Response Both(grpc::Status (Hcalls::*method)(grpc::ClientContext*, const Request&, Response*),
                Request request, uint64_t opcode, std::initializer_list<uint64_t> arguments) {
    request.set_partition("typed");
    const auto reply = Call(hcalls(), method, request);
    EXPECT_TRUE(reply.status.ok()) << reply.status.error_message();
    registers_ = MustHcall("registers", opcode, arguments);
    EXPECT_EQ(reply.response.return_code(), registers_.return_code());
    EXPECT_EQ(MustGetStatistics("typed").SerializeAsString(),
              MustGetStatistics("registers").SerializeAsString());
    return reply.response;
  }

  int64_t return_code() const { return registers_.return_code(); }
  Words outputs() const { return {registers_.outputs().begin(), registers_.outputs().end()}; }

  void EnterBoth(uint64_t flags, uint64_t ptex, uint64_t v, uint64_t r) {
    v1::EnterRequest request;
    request.set_flags(flags);
    request.set_ptex(ptex);
    request.mutable_hpte()->set_v(v);
    request.mutable_hpte()->set_r(r);
    const auto response = Both(&Hcalls::Enter, request, hcall::kHEnter, {flags, ptex, v, r});
    if (return_code() == 0) {
      EXPECT_EQ(outputs(), Words{response.ptex()});
    }
  }

  template <typename Response>
  static Words Specifiers(const Response& response) {
    Words words;
    for (const v1::BulkSpecifier& specifier : response.specifiers()) {
      words.push_back(specifier.high());
      words.push_back(specifier.low());
    }
    return words;
  }

 private:
  v1::HcallResult registers_;
};

TEST_F(TypedHcallTest, EnterAndRead) {
  EnterBoth(0, kSomePtex, kSomeV, kSomeR);
  EXPECT_EQ(return_code(), 0);
  EnterBoth(hcall::kFlagExact, kSomePtex + 5, kSomeV | mmu::kVBolted, kSomeR);
  EnterBoth(hcall::kFlagExact, kSomePtex + 5, kSomeV, kSomeR);
  EXPECT_EQ(return_code(), hcall::kHPtegFull);
  EnterBoth(0, ~uint64_t{0}, kSomeV, kSomeR);
  EXPECT_EQ(return_code(), hcall::kHParameter);
  for (const uint64_t flags : {uint64_t{0}, hcall::kFlagRead4}) {
    v1::ReadRequest request;
    request.set_flags(flags);
    request.set_ptex(kSomePtex);
    const auto response = Both(&Hcalls::Read, request, hcall::kHRead, {flags, kSomePtex});
    EXPECT_EQ(response.hptes_size(), flags == 0 ? 1 : 4);
    Words words;
    for (const v1::Hpte& hpte : response.hptes()) words.insert(words.end(), {hpte.v(), hpte.r()});
    EXPECT_EQ(outputs(), words);
  }
}

TEST_F(TypedHcallTest, ReferenceAndChange) {
  EnterBoth(0, kSomePtex, kSomeV, kSomeR);
  v1::ClearReferenceRequest reference;
  reference.set_ptex(kSomePtex);
  const auto first = Both(&Hcalls::ClearReference, reference, hcall::kHClearRef, {0, kSomePtex});
  EXPECT_EQ(outputs(), Words{first.r()});
  EXPECT_EQ(first.r() & (mmu::kRReferenced | mmu::kRChanged), mmu::kRReferenced | mmu::kRChanged);
  v1::ClearModifyRequest modify;
  modify.set_ptex(kSomePtex);
  const auto second = Both(&Hcalls::ClearModify, modify, hcall::kHClearMod, {0, kSomePtex});
  EXPECT_EQ(outputs(), Words{second.r()});
  EXPECT_EQ(second.r() & (mmu::kRReferenced | mmu::kRChanged), mmu::kRChanged);
  modify.set_ptex(0);
  Both(&Hcalls::ClearModify, modify, hcall::kHClearMod, {0, 0});
  EXPECT_EQ(return_code(), hcall::kHNotFound);
}

TEST_F(TypedHcallTest, ProtectAndRemove) {
  EnterBoth(0, kSomePtex, kSomeV, kSomeR);
  v1::ProtectRequest protect;
  protect.set_flags(hcall::kFlagAvpn | kPpReadOnly);
  protect.set_ptex(kSomePtex);
  protect.set_avpn(kSomeV);
  Both(&Hcalls::Protect, protect, hcall::kHProtect, {protect.flags(), kSomePtex, kSomeV});
  EXPECT_EQ(return_code(), 0);
  v1::RemoveRequest remove;
  remove.set_flags(hcall::kFlagAvpn);
  remove.set_ptex(kSomePtex);
  remove.set_avpn(kSomeV + 0x80);
  Both(&Hcalls::Remove, remove, hcall::kHRemove, {remove.flags(), kSomePtex, kSomeV + 0x80});
  EXPECT_EQ(return_code(), hcall::kHNotFound);
  remove.set_avpn(kSomeV);
  const auto removed =
      Both(&Hcalls::Remove, remove, hcall::kHRemove, {remove.flags(), kSomePtex, kSomeV});
  EXPECT_EQ(outputs(), (Words{removed.hpte().v(), removed.hpte().r()}));
  EXPECT_EQ(removed.hpte().v(), kSomeV | 1);
}

TEST_F(TypedHcallTest, BulkRemove) {
  EnterBoth(0, kSomePtex, kSomeV, kSomeR);
  const uint64_t by_avpn = 0x4200000000000000 | kSomePtex;
  const uint64_t end = 0xc000000000000000;
  v1::BulkRemoveRequest request;
  for (const uint64_t high : {by_avpn, by_avpn + 1, end}) {
    v1::BulkSpecifier* specifier = request.add_specifiers();
    specifier->set_high(high);
    specifier->set_low(kSomeV);
  }
  const auto response = Both(&Hcalls::BulkRemove, request, hcall::kHBulkRemove,
                             {by_avpn, kSomeV, by_avpn + 1, kSomeV, end, kSomeV});
  EXPECT_EQ(return_code(), 0);
  EXPECT_EQ(outputs(), Specifiers(response));
  EXPECT_EQ(response.specifiers(0).high(), 0x8e00000000000000 | kSomePtex);
}

TEST_F(TypedHcallTest, BlockRemove) {
  EnterBoth(0, kSomePtex, kSomeV, kSomeR);
  const uint64_t by_avpn = 0x4100000000000000 | kSomePtex;
  const uint64_t end = 0xc000000000000000;
  v1::BlockRemoveRequest request;
  request.set_avpn(kSomeV);
  for (const uint64_t specifier : {by_avpn, by_avpn + 1, end}) request.add_specifiers(specifier);
  const auto response = Both(&Hcalls::BlockRemove, request, hcall::kHBlockRemove,
                             {kSomeV, by_avpn, by_avpn + 1, end});
  EXPECT_EQ(return_code(), hcall::kHPartial);
  EXPECT_EQ(outputs(), Words(response.specifiers().begin(), response.specifiers().end()));
  EXPECT_EQ(response.specifiers(0), 0x8700000000000000 | kSomePtex);
}

TEST_F(TypedHcallTest, BlockRemoveThatIsOffLeavesTheSpecifiersAsTheyWere) {
  v1::PartitionConfig config = SmallConfig();
  config.mutable_features();
  MustCreate("off", config);
  v1::BlockRemoveRequest request;
  request.set_partition("off");
  request.set_avpn(kSomeV);
  request.add_specifiers(0x41);
  const auto reply = Call(hcalls(), &Hcalls::BlockRemove, request);
  EXPECT_EQ(reply.response.return_code(), hcall::kHFunction);
  ASSERT_EQ(reply.response.specifiers_size(), 8);
  EXPECT_EQ(reply.response.specifiers(0), 0x41U);
  EXPECT_EQ(reply.response.specifiers(1), 0U);
}

TEST_F(TypedHcallTest, HashCallsUseTheOpcodesOfThePartition) {
  const uint64_t hash = kSomePtex >> 3;
  EnterBoth(0, kSomePtex, kSomeV, kSomeR);
  v1::HashProtectRequest protect;
  protect.set_flags(hcall::kFlagAvpn | kPpReadOnly);
  protect.set_hash(hash);
  protect.set_avpn(kSomeV);
  Both(&Hcalls::HashProtect, protect, 0xfa04, {protect.flags(), hash, kSomeV});
  EXPECT_EQ(return_code(), 0);
  v1::HashRemoveRequest remove;
  remove.set_flags(hcall::kFlagAvpn | hcall::kFlagAndCond);
  remove.set_hash(hash);
  remove.set_avpn(kSomeV);
  remove.set_and_mask(1);
  Both(&Hcalls::HashRemove, remove, 0xfa00, {remove.flags(), hash, kSomeV, 1});
  EXPECT_EQ(return_code(), hcall::kHNotFound);
  remove.set_and_mask(mmu::kVBolted);
  const auto removed =
      Both(&Hcalls::HashRemove, remove, 0xfa00, {remove.flags(), hash, kSomeV, mmu::kVBolted});
  EXPECT_EQ(outputs(), (Words{removed.hpte().v(), removed.hpte().r()}));
  EnterBoth(0, kSomePtex, kSomeV, kSomeR);
  v1::HashBulkRemoveRequest bulk;
  v1::BulkSpecifier* specifier = bulk.add_specifiers();
  specifier->set_high(0x4200000000000000 | hash);
  specifier->set_low(kSomeV);
  bulk.add_specifiers()->set_high(0xc000000000000000);
  const auto response =
      Both(&Hcalls::HashBulkRemove, bulk, 0xfa08, {specifier->high(), kSomeV, 0xc000000000000000});
  EXPECT_EQ(return_code(), 0);
  EXPECT_EQ(outputs(), Specifiers(response));
}

TEST_F(TypedHcallTest, Resize) {
  EnterBoth(0, kSomePtex, kSomeV | mmu::kVBolted, kSomeR);
  v1::ResizeHptPrepareRequest prepare;
  v1::ResizeHptCommitRequest commit;
  prepare.set_shift(19);
  commit.set_shift(19);
  Both(&Hcalls::ResizeHptCommit, commit, hcall::kHResizeHptCommit, {0, 19});
  EXPECT_EQ(return_code(), hcall::kHClosed);
  Both(&Hcalls::ResizeHptPrepare, prepare, hcall::kHResizeHptPrepare, {0, 19});
  EXPECT_EQ(return_code(), hcall::kHLongBusyOrder100Msec);
  for (const char* name : {"typed", "registers"}) {
    v1::FinishResizePreparationRequest finish;
    finish.set_name(name);
    finish.set_order(19);
    EXPECT_TRUE(Call(partitions(), &Partitions::FinishResizePreparation, finish).status.ok());
  }
  Both(&Hcalls::ResizeHptPrepare, prepare, hcall::kHResizeHptPrepare, {0, 19});
  EXPECT_EQ(return_code(), 0);
  Both(&Hcalls::ResizeHptCommit, commit, hcall::kHResizeHptCommit, {0, 19});
  EXPECT_EQ(return_code(), 0);
  EXPECT_EQ(MustGetStatistics("typed").order(), 19U);
  prepare.set_flags(1);
  Both(&Hcalls::ResizeHptPrepare, prepare, hcall::kHResizeHptPrepare, {1, 19});
  EXPECT_EQ(return_code(), hcall::kHParameter);
}

TEST_F(TypedHcallTest, PageInitAndClearHpt) {
  EnterBoth(0, kSomePtex, kSomeV, kSomeR);
  v1::PageInitRequest init;
  init.set_flags(hcall::kFlagCopyPage);
  init.set_destination(0x1000);
  init.set_source(0x2000);
  Both(&Hcalls::PageInit, init, hcall::kHPageInit, {hcall::kFlagCopyPage, 0x1000, 0x2000});
  EXPECT_EQ(return_code(), 0);
  init.set_source(0x2001);
  Both(&Hcalls::PageInit, init, hcall::kHPageInit, {hcall::kFlagCopyPage, 0x1000, 0x2001});
  EXPECT_EQ(return_code(), hcall::kHParameter);
  Both(&Hcalls::ClearHpt, v1::ClearHptRequest(), hcall::kHClearHpt, {});
  EXPECT_EQ(return_code(), 0);
  EXPECT_EQ(MustGetStatistics("typed").valid(), 0U);
}

TEST_F(TypedHcallTest, BatchGivesAResultForEachAndStopsIfAsked) {
  v1::HcallBatchRequest batch;
  batch.set_partition("typed");
  AddHcall(batch, hcall::kHEnter, {0, kSomePtex, kSomeV, kSomeR});
  AddHcall(batch, 0x5555, {1, 2, 3});
  AddHcall(batch, hcall::kHRemove, {0, kSomePtex});
  auto reply = Call(hcalls(), &Hcalls::HcallBatch, batch);
  ASSERT_TRUE(reply.status.ok());
  ASSERT_EQ(reply.response.results_size(), 3);
  EXPECT_EQ(reply.response.results(0).outputs(0), kSomePtex);
  EXPECT_EQ(reply.response.results(1).return_code(), hcall::kHFunction);
  EXPECT_EQ(reply.response.results(1).outputs_size(), 0);
  EXPECT_EQ(reply.response.results(2).outputs(0), kSomeV | 1);
  batch.set_stop_on_failure(true);
  // Often enough that the batches that are taken apart to be timed are among them.
  for (int i = 0; i < 40; ++i) {
    reply = Call(hcalls(), &Hcalls::HcallBatch, batch);
    ASSERT_EQ(reply.response.results_size(), 2) << i;
    EXPECT_EQ(MustHcall("typed", hcall::kHRemove, {0, kSomePtex}).return_code(), 0) << i;
  }
  batch.clear_hcalls();
  EXPECT_TRUE(Call(hcalls(), &Hcalls::HcallBatch, batch).status.ok());
}

TEST_F(TypedHcallTest, ProblemState) {
  v1::HcallRequest request = HcallOf("typed", hcall::kHRead, {0, 0});
  request.mutable_hcall()->set_problem_state(true);
  EXPECT_EQ(Call(hcalls(), &Hcalls::Hcall, request).response.result().return_code(),
            hcall::kHPrivilege);
}

}  // namespace
}  // namespace papr::server

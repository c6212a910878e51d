// ExportHpt and ImportHpt as clients see them: the bytes, the errors, and streams that end early.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "hcall/abi.h"
#include "tests/integration/child_daemon.h"
#include "tests/integration/scrape.h"
#include "tests/integration/server_fixture.h"

namespace papr::server {
namespace {

using testing::HasSubstr;

constexpr std::string_view kExample =
    "0000000000001809"
    "180900000100d7360007ffffffffff850000000003038012"
    "f03f000001000f000000000000001f810000000000fff012";

std::string Bytes(std::string_view hex) {
  return absl::HexStringToBytes(absl::string_view(hex.data(), hex.size()));
}

template <typename Stream>
Reply<v1::ImportHptResponse> FinishStream(Stream& stream, grpc::ClientContext& context) {
  Reply<v1::ImportHptResponse> reply;
  reply.status = stream.Finish();
  const auto& trailers = context.GetServerTrailingMetadata();
  if (const auto found = trailers.find("papr-error-bin"); found != trailers.end()) {
    reply.detail.ParseFromArray(found->second.data(), static_cast<int>(found->second.size()));
  }
  return reply;
}

// One ExportHpt.
class Export {
 public:
  explicit Export(Partitions& stub) : stream_(stub.ExportHpt(&context_)) {}
  Export(Partitions& stub, const std::string& partition) : Export(stub) {
    v1::ExportHptRequest request;
    request.mutable_open()->set_name(partition);
    EXPECT_TRUE(stream_->Write(request));
  }

  void Write(const v1::ExportHptRequest& request) { stream_->Write(request); }
  // One read; nothing once the stream has ended.
  bool Read(v1::ExportHptResponse* response, uint32_t max_bytes = 0) {
    v1::ExportHptRequest request;
    request.mutable_read()->set_max_bytes(max_bytes);
    return stream_->Write(request) && stream_->Read(response);
  }
  std::string ReadHex(uint32_t max_bytes = 0) {
    v1::ExportHptResponse response;
    EXPECT_TRUE(Read(&response, max_bytes));
    return absl::BytesToHexString(response.data());
  }
  void Cancel() { context_.TryCancel(); }
  void Done() { stream_->WritesDone(); }
  Reply<v1::ImportHptResponse> Finish() { return FinishStream(*stream_, context_); }
  Reply<v1::ImportHptResponse> FinishUnread() {
    v1::ExportHptResponse response;
    while (stream_->Read(&response)) {
    }
    return Finish();
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExportHptRequest, v1::ExportHptResponse>> stream_;
};

class HptStreamTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.metrics_listen.push_back({"127.0.0.1", 0});
    StartServer(options);
    MustCreate("p", SmallConfig());
    MustCreate("q", SmallConfig());
  }

  // An ImportHpt of these messages; the first is `open` unless it has a name already.
  Reply<v1::ImportHptResponse> Import(const std::string& partition,
                                      const std::vector<std::string>& pieces,
                                      v1::HeaderByteOrder order = {}) {
    v1::ImportHptRequest open;
    open.mutable_open()->set_name(partition);
    open.mutable_open()->set_header_order(order);
    std::vector<v1::ImportHptRequest> requests = {open};
    for (const std::string& piece : pieces) requests.emplace_back().set_data(piece);
    return Import(requests);
  }
  Reply<v1::ImportHptResponse> Import(const std::vector<v1::ImportHptRequest>& requests) {
    grpc::ClientContext context;
    v1::ImportHptResponse response;
    const auto stream = partitions().ImportHpt(&context, &response);
    for (const auto& request : requests) {
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
    auto reply = FinishStream(*stream, context);
    reply.response = response;
    return reply;
  }

  void ExpectField(const Reply<v1::ImportHptResponse>& reply, const std::string& field) {
    EXPECT_EQ(reply.status.error_code(), grpc::INVALID_ARGUMENT) << reply.status.error_message();
    EXPECT_EQ(reply.detail.field(), field) << reply.status.error_message();
  }
};

TEST_F(HptStreamTest, TheExampleGoesInAndComesOut) {
  const auto reply = Import("p", {Bytes(kExample)});
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  EXPECT_EQ(reply.response.records(), 3u);
  EXPECT_EQ(reply.response.stored(), 2u);
  EXPECT_EQ(reply.response.removed(), 0u);
  EXPECT_EQ(reply.response.bytes(), 56u);
  EXPECT_EQ(reply.response.incomplete_bytes(), 0u);
  Export from(partitions(), "p");
  v1::ExportHptResponse response;
  ASSERT_TRUE(from.Read(&response));
  EXPECT_EQ(absl::BytesToHexString(response.data()), kExample);
  EXPECT_TRUE(response.first_pass());
  EXPECT_TRUE(response.end_of_pass());
  ASSERT_TRUE(from.Read(&response));
  EXPECT_EQ(response.data(), "");
  EXPECT_FALSE(response.first_pass());
  EXPECT_TRUE(response.end_of_pass());
  EXPECT_EQ(MustHcall("p", hcall::kHRemove, {0, 0x918, 0}).return_code(), 0);
  EXPECT_EQ(from.ReadHex(), "1809000000000100");
  from.Done();
  EXPECT_TRUE(from.Finish().status.ok());
}

TEST_F(HptStreamTest, AReadIsAsLargeAsItAsks) {
  ASSERT_TRUE(Import("p", {Bytes(kExample)}).status.ok());
  Export from(partitions(), "p");
  EXPECT_EQ(from.ReadHex(24), "");
  EXPECT_EQ(from.ReadHex(25), "0000000000001809");
  EXPECT_EQ(from.ReadHex(25), "180900000100d7360007ffffffffff850000000003038012");
  EXPECT_EQ(from.ReadHex(0xffffffff), "f03f000001000f000000000000001f810000000000fff012");
}

TEST_F(HptStreamTest, EveryOptionReachesTheExport) {
  ASSERT_TRUE(Import("p", {Bytes(kExample)}).status.ok());
  ASSERT_EQ(
      MustHcall("p", hcall::kHEnter, {hcall::kFlagExact, 0x3ff3, 0x1f91, 0xfff012}).return_code(),
      0);
  v1::ExportHptRequest request;
  v1::ExportHptOpen& open = *request.mutable_open();
  open.set_name("p");
  open.set_bolted_only(true);
  open.set_start_index(0x3ff0);
  open.set_kvm_exact(true);
  open.set_header_order(v1::HEADER_BYTE_ORDER_BIG_ENDIAN);
  Export from(partitions());
  from.Write(request);
  EXPECT_EQ(from.ReadHex(),
            "00003ff000000003"
            "00003ff30001000c0000000000001fd10000000000fff012");
}

TEST_F(HptStreamTest, AStreamMayBeCutAnywhere) {
  std::vector<std::string> pieces;
  for (const char c : Bytes(kExample)) pieces.emplace_back(1, c);
  pieces.emplace_back("\x18\x09");
  const auto reply = Import("p", pieces);
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  EXPECT_EQ(reply.response.records(), 3u);
  EXPECT_EQ(reply.response.bytes(), 56u);
  EXPECT_EQ(reply.response.incomplete_bytes(), 2u);
}

TEST_F(HptStreamTest, ABadRecordIsNamedAndWhatCameBeforeStays) {
  const auto reply =
      Import("p", {Bytes(kExample), Bytes("1809000001000000"), Bytes("0007ffffffffff84"),
                   Bytes("0000000003038012"), Bytes(kExample)});
  EXPECT_EQ(reply.status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(reply.detail.field(), "data");
  EXPECT_EQ(reply.detail.record(), 4u);
  EXPECT_THAT(reply.status.error_message(), HasSubstr("data: record 4: entry 0x918"));
  EXPECT_EQ(MustGetStatistics("p").valid(), 2u);
}

TEST_F(HptStreamTest, HeadersOfBothByteOrdersAreTaken) {
  const std::string big = Bytes("00003ff000000001");
  EXPECT_TRUE(Import("p", {big}, v1::HEADER_BYTE_ORDER_BIG_ENDIAN).status.ok());
  EXPECT_EQ(Import("p", {big}).detail.record(), 1u);  // index 0xf03f0000
}

// The wrong behaviour: the export went on with the table of before the reset (case G9).
TEST_F(HptStreamTest, AResetEndsAnExport) {
  ASSERT_TRUE(Import("p", {Bytes(kExample)}).status.ok());
  Export from(partitions(), "p");
  EXPECT_EQ(from.ReadHex(25), "0000000000001809");
  v1::ResetPartitionRequest reset;
  reset.set_name("p");
  ASSERT_TRUE(Call(partitions(), &Partitions::ResetPartition, reset).status.ok());
  v1::ExportHptResponse response;
  EXPECT_FALSE(from.Read(&response));
  EXPECT_EQ(from.Finish().status.error_code(), grpc::ABORTED);
  EXPECT_EQ(Export(partitions(), "p").ReadHex(), "0000000000000040");
}

TEST_F(HptStreamTest, ADeletedPartitionEndsAnExport) {
  Export from(partitions(), "p");
  EXPECT_EQ(from.ReadHex(), "0000000000000040");
  v1::DeletePartitionRequest request;
  request.set_name("p");
  ASSERT_TRUE(Call(partitions(), &Partitions::DeletePartition, request).status.ok());
  v1::ExportHptResponse response;
  EXPECT_FALSE(from.Read(&response));
  EXPECT_EQ(from.Finish().status.error_code(), grpc::NOT_FOUND);
}

TEST_F(HptStreamTest, MalformedExportsAreRefused) {
  v1::ExportHptRequest read;
  read.mutable_read();
  v1::ExportHptRequest open;
  open.mutable_open()->set_name("p");
  {
    Export from(partitions());
    from.Write(read);
    ExpectField(from.FinishUnread(), "open");
  }
  {
    Export from(partitions());
    from.Write({});
    ExpectField(from.FinishUnread(), "open");
  }
  {
    Export from(partitions(), "p");
    from.Write(open);
    ExpectField(from.FinishUnread(), "read");
  }
  {
    open.mutable_open()->set_header_order(static_cast<v1::HeaderByteOrder>(7));
    Export from(partitions());
    from.Write(open);
    ExpectField(from.FinishUnread(), "open.header_order");
  }
  EXPECT_EQ(Export(partitions(), "nobody").FinishUnread().status.error_code(), grpc::NOT_FOUND);
}

TEST_F(HptStreamTest, MalformedImportsAreRefused) {
  ExpectField(Import(std::vector<v1::ImportHptRequest>()), "open");
  v1::ImportHptRequest data;
  data.set_data(Bytes(kExample));
  ExpectField(Import({data}), "open");
  v1::ImportHptRequest open;
  open.mutable_open()->set_name("p");
  ExpectField(Import({open, open}), "data");
  open.mutable_open()->set_header_order(static_cast<v1::HeaderByteOrder>(7));
  ExpectField(Import({open}), "open.header_order");
  EXPECT_EQ(Import("nobody", {}).status.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(MustGetStatistics("p").valid(), 0u);
}

TEST_F(HptStreamTest, ARadixPartitionHasNothingAndTakesNothing) {
  v1::PartitionConfig config = SmallConfig();
  config.set_mmu(v1::MMU_KIND_RADIX);
  MustCreate("radix", config);
  Export from(partitions(), "radix");
  v1::ExportHptResponse response;
  ASSERT_TRUE(from.Read(&response));
  EXPECT_EQ(response.data(), "");
  EXPECT_TRUE(response.end_of_pass());
  EXPECT_EQ(Import("radix", {}).status.error_code(), grpc::FAILED_PRECONDITION);
}

// Bytes that are no message do not pass for the end of the stream.
TEST_F(HptStreamTest, UndecodableMessagesAreRefused) {
  for (const char* method : {"ExportHpt", "ImportHpt"}) {
    grpc::GenericStub stub(channel());
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto stream =
        stub.PrepareCall(&context, std::string("/papr.mmu.v1.PartitionService/") + method, &queue);
    const auto wait = [&] {
      void* tag = nullptr;
      bool ok = false;
      queue.Next(&tag, &ok);
    };
    stream->StartCall(nullptr);
    wait();
    const grpc::Slice junk("\xff\xff\xff");
    stream->Write(grpc::ByteBuffer(&junk, 1), nullptr);
    wait();
    grpc::Status status;
    stream->Finish(&status, nullptr);
    wait();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << method;
  }
}

TEST_F(HptStreamTest, StreamsThatAreCancelledLeaveNothingBehind) {
  for (int i = 0; i < 200; ++i) {
    Export from(partitions(), "p");
    v1::ExportHptRequest request;
    request.mutable_read();
    for (int reads = i % 4; reads > 0; --reads) from.Write(request);
    from.Cancel();
    EXPECT_EQ(from.FinishUnread().status.error_code(), grpc::CANCELLED);
  }
  // Marks are not shared with any of them: the first read of a pass gives what changed.
  Export from(partitions(), "p");
  EXPECT_EQ(from.ReadHex(), "0000000000000040");
  ASSERT_EQ(MustHcall("p", hcall::kHEnter, {0, kSomePtex, kSomeV, kSomeR}).return_code(), 0);
  EXPECT_EQ(from.ReadHex().size(), 48u);
}

// Passes over gRPC under load, then one at rest: the copy is the table.
TEST_F(HptStreamTest, PassesUnderLoadGiveTheTable) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> guests;
  for (uint64_t guest = 0; guest < 2; ++guest) {
    guests.emplace_back([&, guest] {
      for (uint64_t i = 0; !stop; ++i) {
        const uint64_t ptex = (i * 7 + guest) % 512;
        Call(hcalls(), &Hcalls::Hcall,
             i % 3 == 0
                 ? HcallOf("p", hcall::kHRemove, {0, ptex, 0})
                 : HcallOf("p", hcall::kHEnter, {hcall::kFlagExact, ptex, (i << 12) + 1, kSomeR}));
      }
    });
  }
  Export from(partitions(), "p");
  std::vector<std::string> pieces;
  const auto pass = [&] {
    v1::ExportHptResponse response;
    do {
      ASSERT_TRUE(from.Read(&response, 500));
      pieces.push_back(response.data());
    } while (!response.end_of_pass());
  };
  for (int i = 0; i < 50; ++i) pass();
  stop = true;
  for (std::thread& guest : guests) guest.join();
  pass();
  ASSERT_TRUE(Import("q", pieces).status.ok());
  EXPECT_EQ(MustGetStatistics("q").valid(), MustGetStatistics("p").valid());
  EXPECT_EQ(MustGetStatistics("q").digest(), MustGetStatistics("p").digest());
  EXPECT_GT(MustGetStatistics("p").valid(), 0u);
}

TEST_F(HptStreamTest, StreamsAreCountedAsRpcs) {
  ASSERT_TRUE(Import("p", {Bytes(kExample)}).status.ok());
  {
    Export from(partitions(), "p");
    from.ReadHex();
    from.Done();
    ASSERT_TRUE(from.Finish().status.ok());
  }
  const std::string page = HttpGet(server().metrics_url());
  for (const char* line :
       {"grpc_server_handled_total{grpc_type=\"bidi_stream\",grpc_service=\"papr.mmu.v1."
        "PartitionService\",grpc_method=\"ExportHpt\",grpc_code=\"OK\"} 1",
        "grpc_server_handled_total{grpc_type=\"client_stream\",grpc_service=\"papr.mmu.v1."
        "PartitionService\",grpc_method=\"ImportHpt\",grpc_code=\"OK\"} 1",
        "grpc_server_msg_received_total{grpc_type=\"bidi_stream\",grpc_service=\"papr.mmu.v1."
        "PartitionService\",grpc_method=\"ExportHpt\"} 2"}) {
    EXPECT_THAT(page, HasSubstr(line));
  }
}

// An idle stream does not hold up the end of the daemon, and is told.
TEST(HptStreamDrainTest, StreamsEndWhenTheDaemonDrains) {
  ChildDaemon daemon(
      {"--listen=127.0.0.1:0", "--metrics_listen=", "--partition=name=p,order=18,ram=0:64M"});
  ASSERT_TRUE(daemon.WaitUntilReady());
  const auto stub = v1::PartitionService::NewStub(
      grpc::CreateChannel(daemon.Listening("grpc"), grpc::InsecureChannelCredentials()));
  Export from(*stub, "p");
  EXPECT_EQ(from.ReadHex(), "0000000000000040");
  const auto begin = std::chrono::steady_clock::now();
  daemon.Signal(SIGTERM);
  EXPECT_EQ(from.FinishUnread().status.error_code(), grpc::UNAVAILABLE);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace papr::server

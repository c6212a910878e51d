// The adapter protocol: lines in both directions, the server in this process, and adapters as child
// processes, well-behaved and not.

#include <sstream>
#include <string>

#include "client/conformance/adapter_machine.h"
#include "client/conformance/adapter_protocol.h"
#include "client/conformance/adapter_server.h"
#include "client/machine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace papr::conformance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What the server, over partitions in this process, answers to `requests`.
std::vector<std::string> Serve(const std::string& requests) {
  std::istringstream in(requests);
  std::ostringstream out;
  ServeAdapter(
      {Column::kKvmHv, "hptd in this process"},
      [](const hcall::PartitionConfig& config) {
        return client::CreateMachine("local", "adapter", config);
      },
      in, out);
  std::vector<std::string> answers;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) answers.push_back(line);
  return answers;
}

TEST(AdapterServer, AnswersEveryRequest) {
  EXPECT_THAT(Serve("hello 1\n"
                    "create order=18,ram=0:1G,resize=manual,profile=kvm-hv\n"
                    "hcall 0x8 0x0 0x3ff5 0x1f81 0xfff012 0x5 0x6 0x7 0x8 0x9\n"
                    "touch 0x3ff0 RC\n"
                    "hcall 0xc 0x0 0x3ff0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"
                    "statistics\n"
                    "hcall 0x36c 0x0 0x14 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"
                    "finish 20 0\n"
                    "hcall 0x370 0x0 0x14 0x0 0x0 0x0 0x0 0x0 0x0 0x0 problem-state\n"
                    "hcall 0x370 0x0 0x14 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n"
                    "statistics\n"
                    "reset\n"
                    "statistics\n"),
              ElementsAre("ok kvm-hv hptd in this process", "ok",
                          "ok 0 0x3ff0 0x3ff5 0x1f81 0xfff012 0x5 0x6 0x7 0x8 0x9", "ok",
                          "ok 0 0x1f81 0xfff192 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "ok 18 1",
                          "ok 9902 0x0 0x14 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "ok",
                          "ok -3 0x0 0x14 0x0 0x0 0x0 0x0 0x0 0x0 0x0",
                          "ok 0 0x0 0x14 0x0 0x0 0x0 0x0 0x0 0x0 0x0", "ok 20 0", "ok", "ok 18 0"));
}

TEST(AdapterServer, RefusesWhatIsNoRequest) {
  const auto answers = Serve(
      "hello 2\nreset\ncreate order=17\ncreate order=18,profile=papr\ncreate order=18\n"
      "hcall 0x8\nhcall 0x8 0 0 0 0 0 0 0 0 0\ntouch 0x1 X\ntouch 0x1 R\nfinish 20\nfly\n");
  ASSERT_EQ(answers.size(), 11u);
  for (const size_t error : {0, 1, 2, 5, 6, 7, 8, 9, 10}) {
    EXPECT_THAT(answers[error], HasSubstr("error ")) << error;
  }
  EXPECT_THAT(answers[2], HasSubstr("order"));
  EXPECT_EQ(answers[3], "ok") << "held against the standard, it is still what it is";
  EXPECT_EQ(answers[4], "ok");
}

TEST(AdapterProtocol, LinesSurviveTheWayThereAndBack) {
  hcall::HcallRequest request;
  request.opcode = 0x124;
  request.registers = {1, 2, 3, 4, 5, 6, 7, 8, ~uint64_t{0}};
  request.problem_state = true;
  const auto parsed = ParseHcall(FormatHcall(request));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->opcode, request.opcode);
  EXPECT_EQ(parsed->registers, request.registers);
  EXPECT_TRUE(parsed->problem_state);

  hcall::HcallResult result;
  result.return_code = -7;
  result.registers = request.registers;
  const auto answer = ParseHcallAnswer(FormatHcallAnswer(result));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->return_code, -7);
  EXPECT_EQ(answer->registers, result.registers);

  EXPECT_EQ(ParseAnswer(FormatAnswer(absl::UnimplementedError("a\nb"))).status(),
            absl::UnimplementedError("a b"));
  EXPECT_EQ(ParseAnswer(FormatAnswer(absl::AbortedError("x"))).status(), absl::AbortedError("x"));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseAnswer("perhaps").status()));
  EXPECT_TRUE(ParseAnswer("ok").value().empty());
}

TEST(Adapter, AProgramOfAFewLinesIsOne) {
  const auto adapter = Adapter::Start(R"sh(while read -r verb rest; do
    case $verb in
      hello) echo "ok papr a shell script, 1.0" ;;
      create) case $rest in *order=18*) echo ok ;; *) echo "unsupported other orders" ;; esac ;;
      hcall) echo "ok -2 ${rest#* }" ;;
      statistics) echo "ok 18 3" ;;
      touch) echo "crashed it fell over" ;;
      *) echo "error what?" ;;
    esac
  done)sh");
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  EXPECT_EQ((*adapter)->column(), Column::kPapr);
  EXPECT_EQ((*adapter)->name(), "a shell script, 1.0");
  EXPECT_EQ((*adapter)->CreateMachine("order=20").status(),
            absl::UnimplementedError("other orders"));
  const auto machine = (*adapter)->CreateMachine("order=18");
  ASSERT_TRUE(machine.ok()) << machine.status();
  const auto result = (*machine)->MakeHypervisor()->Hcall(client::MakeHcall(8, {1, 2, 0xabc}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->return_code, -2);
  EXPECT_EQ(result->registers[2], 0xabcu);
  EXPECT_EQ((*machine)->GetStatistics()->valid, 3u);
  const hcall::ReferenceChange update = {0, true, false};
  EXPECT_EQ((*machine)->SetReferenceChange({&update, 1}), absl::AbortedError("it fell over"));
  EXPECT_TRUE(absl::IsInternal((*machine)->Reset(std::nullopt)));
}

TEST(Adapter, OneThatEndsOrBabblesIsNamed) {
  EXPECT_TRUE(absl::IsUnavailable(Adapter::Start("true").status()));
  EXPECT_TRUE(absl::IsUnavailable(Adapter::Start("exec /does/not/exist").status()));
  for (const char* babble : {"echo hi; cat", "echo ok; cat", "echo ok power x; cat"}) {
    EXPECT_TRUE(absl::IsUnavailable(Adapter::Start(babble).status())) << babble;
  }
  const auto adapter = Adapter::Start("read -r x; echo ok kvm y; read -r x");
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  const absl::Status status = (*adapter)->CreateMachine("order=18").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("read -r x"));
}

TEST(Adapter, AnAnswerThatIsNoneIsShownAndEndsItsUse) {
  const auto adapter = Adapter::Start(R"sh(while read -r verb rest; do
    case $verb in
      hello) echo "ok papr x" ;;
      create) echo ok ;;
      hcall) echo "ok 0 1 2 3" ;;
    esac
  done)sh");
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  const auto machine = (*adapter)->CreateMachine("order=18");
  ASSERT_TRUE(machine.ok()) << machine.status();
  const absl::Status status =
      (*machine)->MakeHypervisor()->Hcall(client::MakeHcall(8, {})).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("hcall 0x8"), HasSubstr("expected 'ok CODE R4 ... R12'"),
                             HasSubstr("got 'ok 0 1 2 3'")));
  EXPECT_EQ((*adapter)->CreateMachine("order=18").status(), status);
}

TEST(Adapter, WhatItSaysUnaskedOrTooMuchEndsItsUse) {
  const auto early =
      Adapter::Start("read -r x; echo ok papr x; echo ok; echo ok 0; cat >/dev/null");
  ASSERT_TRUE(early.ok()) << early.status();
  absl::Status status;
  // What it says too early may still be on its way when the first request is sent.
  for (int i = 0; i < 3 && status.ok(); ++i) status = (*early)->Tell("reset");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  const auto wordy =
      Adapter::Start("read -r x; echo ok papr x; read -r x; echo ok failed; cat >/dev/null");
  ASSERT_TRUE(wordy.ok()) << wordy.status();
  status = (*wordy)->Tell("reset");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("got 'ok failed'"));
}

TEST(Adapter, AWaitCanBeCancelled) {
  bool cancelled = false;
  const auto adapter = Adapter::Start("read -r x; echo ok kvm y; exec sleep 1000",
                                      [&cancelled] { return cancelled; });
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  cancelled = true;
  EXPECT_TRUE(absl::IsCancelled((*adapter)->CreateMachine("order=18").status()));
}

}  // namespace
}  // namespace papr::conformance

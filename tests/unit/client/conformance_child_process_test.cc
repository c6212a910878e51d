// What becomes of a child process: its lines, its last words, and its end with its parent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "client/conformance/child_process.h"

namespace papr::conformance {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

std::unique_ptr<ChildProcess> Shell(const std::string& script) {
  auto child = ChildProcess::Start({"sh", "-c", script}, {.keep_error = true});
  EXPECT_TRUE(child.ok()) << child.status();
  return *std::move(child);
}

TEST(ChildProcess, SpeaksInLines) {
  const auto child = Shell("read word; echo \"got $word\"; echo; printf last");
  const auto deadline = steady_clock::now() + seconds(20);
  EXPECT_EQ(child->Write("this\n", deadline), absl::OkStatus());
  EXPECT_EQ(*child->ReadLine(deadline), "got this");
  EXPECT_EQ(*child->ReadLine(deadline), "");
  EXPECT_TRUE(absl::IsAborted(child->ReadLine(deadline).status()));
}

TEST(ChildProcess, ALineThatDoesNotComeIsNotAwaitedForever) {
  const auto child = Shell("exec sleep 100");
  const auto line = child->ReadLine(steady_clock::now() + milliseconds(20));
  EXPECT_TRUE(absl::IsDeadlineExceeded(line.status())) << line.status();
  EXPECT_TRUE(child->Running());
  child->WaitOrKill(milliseconds(0));
  EXPECT_FALSE(child->Running());
}

TEST(ChildProcess, KeepsTheLastWords) {
  const auto child = Shell("echo first >&2; echo 'the reason' >&2; echo >&2; exit 3");
  const auto line = child->ReadLine(steady_clock::now() + seconds(20));
  EXPECT_THAT(line.status().ToString(), HasSubstr("the reason"));
}

TEST(ChildProcess, SaysHowASilentChildEnded) {
  const auto exited = Shell("exit 3");
  exited->WaitOrKill(seconds(20));
  EXPECT_EQ(exited->LastWords(), "exit status 3");
  const auto killed = Shell("kill -ABRT $$");
  killed->WaitOrKill(seconds(20));
  EXPECT_THAT(killed->LastWords(), HasSubstr("Aborted"));
  const auto missing = ChildProcess::Start({"/no/such/program"}, {});
  ASSERT_TRUE(missing.ok());
  (*missing)->WaitOrKill(seconds(20));
  EXPECT_EQ((*missing)->LastWords(), "it cannot be executed");
}

TEST(ChildProcess, ItsInputCanBeEnded) {
  const auto child = Shell("cat; echo end");
  const auto deadline = steady_clock::now() + seconds(20);
  EXPECT_EQ(child->Write("last", deadline), absl::OkStatus());
  child->CloseInput();
  EXPECT_EQ(*child->ReadLine(deadline), "lastend");
  child->WaitOrKill(seconds(20));
  EXPECT_EQ(child->LastWords(), "exit status 0");
  EXPECT_TRUE(absl::IsAborted(child->Write("more", deadline)));
}

TEST(ChildProcess, OneThatDoesNotReadIsNotWrittenToForever) {
  const auto child = Shell("exec sleep 100");
  const absl::Status status =
      child->Write(std::string(1 << 22, 'x'), steady_clock::now() + milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST(ChildProcess, OutputThatIsNotReadIsSeen) {
  const auto child = Shell("echo one; echo two; exec sleep 100");
  const auto deadline = steady_clock::now() + seconds(20);
  EXPECT_EQ(*child->ReadLine(deadline), "one");
  while (!child->HasOutput() && steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(*child->ReadLine(deadline), "two");
  EXPECT_FALSE(child->HasOutput());
}

TEST(ChildProcess, AnEndlessLineIsNotReadForever) {
  const auto child = Shell("exec cat /dev/zero");
  EXPECT_TRUE(
      absl::IsResourceExhausted(child->ReadLine(steady_clock::now() + seconds(60)).status()));
}

// Is there a process of this number that is more than a zombie? An orphan that nobody waits for
// stays in the list: its command line is empty.
bool Alive(int pid) {
  std::FILE* const file = std::fopen(("/proc/" + std::to_string(pid) + "/cmdline").c_str(), "r");
  if (file == nullptr) return false;
  const bool empty = std::fgetc(file) == EOF;
  std::fclose(file);
  return !empty;
}

bool EndsSoon(int pid) {
  const auto deadline = steady_clock::now() + seconds(20);
  while (Alive(pid) && steady_clock::now() < deadline) std::this_thread::sleep_for(milliseconds(5));
  return !Alive(pid);
}

TEST(ChildProcess, ItsGroupEndsWithIt) {
  auto child = ChildProcess::Start({"sh", "-c", "sleep 1000 & echo $!; exit"}, {.own_group = true});
  ASSERT_TRUE(child.ok()) << child.status();
  const auto line = (*child)->ReadLine(steady_clock::now() + seconds(20));
  ASSERT_TRUE(line.ok()) << line.status();
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(*line, &pid));
  (*child)->WaitOrKill(seconds(20));
  EXPECT_TRUE(Alive(pid));
  child->reset();
  EXPECT_TRUE(EndsSoon(pid));
}

TEST(ChildProcess, DiesWithItsParent) {
  int lines[2];
  ASSERT_EQ(pipe(lines), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    const auto child = ChildProcess::Start({"sh", "-c", "echo $$; exec sleep 1000"}, {});
    const auto pid = (*child)->ReadLine(steady_clock::now() + seconds(20));
    if (!pid.ok() || write(lines[1], pid->c_str(), pid->size() + 1) < 0) _exit(1);
    _exit(0);  // runs no destructor
  }
  char text[16] = {};
  ASSERT_GT(read(lines[0], text, sizeof(text) - 1), 0);
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(text, &pid));
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(EndsSoon(pid));
  close(lines[0]);
  close(lines[1]);
}

}  // namespace
}  // namespace papr::conformance

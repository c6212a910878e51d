// hptctl export and import.

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/hptctl/hptctl_fixture.h"

namespace papr::client {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// hpt-format 8.5 and 9.
constexpr char kKvm[] =
    "0000000000001809"
    "180900000100d7360007ffffffffff850000000003038012"
    "f03f000001000f000000000000001f810000000000fff012";
constexpr char kQemu[] =
    "01000000030a73706170722f687461620000000000000001000000127e00000003"
    "020000000300000000"
    "00000918000100000007ffffffffff850000000003038012"
    "00003ff0000100000000000000001f810000000000fff012"
    "00000000000000007e00000003"
    "03000000030000000000000000000000007e00000003";
// The same with the change that the example ends with.
constexpr char kQemuWithChange[] =
    "01000000030a73706170722f687461620000000000000001000000127e00000003"
    "020000000300000000"
    "00000918000100000007ffffffffff850000000003038012"
    "00003ff0000100000000000000001f810000000000fff012"
    "00000000000000007e00000003"
    "0300000003000000000000091800000001"
    "00000000000000007e00000003";

class HptctlStreamTest : public HptctlTest {
 protected:
  void SetUp() override {
    StartDaemon({"--partition=name=p,order=18,ram=0:1G", "--partition=name=q,order=18,ram=0:1G",
                 "--partition=name=big,order=20,ram=0:1G",
                 "--partition=name=radix,mmu=radix,ram=0:1G"});
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return absl::StrCat(folder_, "/", name); }
  void WriteHex(const std::string& name, const std::string& hex) const {
    std::ofstream(Path(name), std::ios::binary) << absl::HexStringToBytes(hex);
  }
  std::string ReadHex(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return absl::BytesToHexString(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  void ImportExample(const std::string& partition) const {
    WriteHex("example", kKvm);
    EXPECT_EQ(RunJson({"import", partition, "--input", Path("example")})["stored"], 2);
  }
  std::string Dump(const std::string& partition) const {
    const auto result = Run({"dump", "--partition", partition});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    return result.output;
  }

  const std::string folder_ = absl::StrCat(testing::TempDir(), "/hptctl_stream_", getpid());
};

TEST_F(HptctlStreamTest, WhatIsExportedIsImported) {
  ImportExample("p");
  for (const char* name : {"plain", "compressed.zst"}) {
    const auto out = RunJson({"export", "p", "--output", Path(name)});
    EXPECT_EQ(out["format"], "kvm");
    EXPECT_EQ(out["passes"], 1);
    EXPECT_EQ(out["records"], 3);
    EXPECT_EQ(out["valid"], 2);
    EXPECT_EQ(out["invalid"], 0x4000 - 2);
    EXPECT_EQ(out["bytes"], 56);
    Run({"partition", "reset", "q"});
    const auto in = RunJson({"import", "q", "--input", Path(name)});
    EXPECT_EQ(in["records"], 3);
    EXPECT_EQ(in["stored"], 2);
    EXPECT_EQ(in["bytes"], 56);
    EXPECT_EQ(Dump("q"), Dump("p"));
  }
  EXPECT_EQ(ReadHex("plain"), kKvm);
  EXPECT_NE(ReadHex("compressed.zst"), kKvm);
}

TEST_F(HptctlStreamTest, TheStreamGoesToStandardOutput) {
  ImportExample("p");
  const auto result = Run({"export", "p"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_EQ(absl::BytesToHexString(result.output), kKvm);
}

TEST_F(HptctlStreamTest, OptionsShapeTheStream) {
  ImportExample("p");
  const auto result = Run({"export", "p", "--start", "0x3ff0", "--kvm-exact", "--big-endian"});
  EXPECT_EQ(absl::BytesToHexString(result.output),
            "00003ff00001000f0000000000001fc10000000000fff012");
  WriteHex("big", absl::BytesToHexString(result.output));
  EXPECT_EQ(RunJson({"import", "q", "--big-endian", "--input", Path("big")})["stored"], 1);
  EXPECT_EQ(absl::BytesToHexString(Run({"export", "p", "--bolted-only"}).output),
            "0000000000000040");
}

TEST_F(HptctlStreamTest, QemusSectionBothWays) {
  ImportExample("p");
  const auto result = Run({"export", "p", "--format", "qemu", "--section-id", "3"});
  EXPECT_EQ(absl::BytesToHexString(result.output), kQemu);
  WriteHex("section", kQemu);
  // The table becomes that of the stream, whatever its order was and was in it.
  ImportExample("big");
  ASSERT_EQ(
      Run({"hcall", "H_ENTER", "0x8000000000", "0x20", "0x1f81", "0x192", "--partition", "big"})
          .exit_code,
      0);
  const auto in = RunJson({"import", "big", "--format", "qemu", "--input", Path("section")});
  EXPECT_EQ(in["tables"], 1);
  EXPECT_EQ(in["records"], 2);
  EXPECT_EQ(in["stored"], 2);
  EXPECT_EQ(Dump("big"), Dump("p"));
  WriteHex("changed", kQemuWithChange);
  EXPECT_EQ(RunJson({"import", "big", "--format", "qemu", "--input", Path("changed")})["removed"],
            1);
  EXPECT_THAT(Dump("big"), Not(HasSubstr(" 918 ")));
}

TEST_F(HptctlStreamTest, QemusSectionInItsOtherForms) {
  ImportExample("p");
  const auto whole = Run({"export", "p", "--format", "qemu", "--file-header", "--no-footers"});
  EXPECT_THAT(absl::BytesToHexString(whole.output),
              testing::StartsWith("5145564d00000003"
                                  "01000000010a73706170722f68746162000000000000000100000012"
                                  "020000000100000000"));
  WriteHex("whole", absl::BytesToHexString(whole.output));
  EXPECT_EQ(RunJson({"import", "q", "--format", "qemu", "--input", Path("whole")})["stored"], 2);
  // As QEMU sends a table that KVM has.
  EXPECT_THAT(
      absl::BytesToHexString(Run({"export", "p", "--format", "qemu", "--kvm-exact"}).output),
      HasSubstr("0000000000000918"
                "00000918000136d70007ffffffffffc50000000003038012"));
}

TEST_F(HptctlStreamTest, AGuestWithoutATable) {
  EXPECT_THAT(Run({"export", "radix"}).output, IsEmpty());
  const auto result = Run({"export", "radix", "--format", "qemu"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  WriteHex("none", absl::BytesToHexString(result.output));
  EXPECT_EQ(RunJson({"import", "radix", "--format", "qemu", "--input", Path("none")})["tables"], 0);
  const auto refused = Run({"import", "p", "--format", "qemu", "--input", Path("none")});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.error, HasSubstr("guest without a hashed page table"));
  WriteHex("section", kQemu);
  const auto other = Run({"import", "radix", "--format", "qemu", "--input", Path("section")});
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.error, HasSubstr("partition radix is a radix partition"));
}

TEST_F(HptctlStreamTest, ABadRecordIsNamed) {
  WriteHex("bad", absl::StrCat(kKvm, "00400000000001000000"));
  const auto result = Run({"import", "p", "--input", Path("bad")});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.error, HasSubstr("data: record 4: index 0x4000"));
  EXPECT_THAT(result.output, IsEmpty());
  EXPECT_THAT(Dump("p"), HasSubstr(" 918 "));
}

TEST_F(HptctlStreamTest, WhatIsCutShortIsTold) {
  WriteHex("cut", std::string(kKvm).substr(0, 100));
  const auto result = Run({"import", "p", "--input", Path("cut")});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.error, HasSubstr("ends in the middle of record 3"));
  WriteHex("section", std::string(kQemu).substr(0, 180));
  const auto section = Run({"import", "p", "--format", "qemu", "--input", Path("section")});
  EXPECT_EQ(section.exit_code, 4);
  EXPECT_THAT(section.error, HasSubstr("ends in the middle of a section"));
}

TEST_F(HptctlStreamTest, ErrorsNameTheThing) {
  const auto nobody = Run({"export", "nobody", "--output", Path("none")});
  EXPECT_EQ(nobody.exit_code, 4);
  EXPECT_THAT(nobody.error, HasSubstr("no partition \"nobody\""));
  EXPECT_FALSE(std::filesystem::exists(Path("none")));
  EXPECT_THAT(Run({"import", "nobody", "--input", "/dev/null"}).error,
              HasSubstr("no partition \"nobody\""));
  const auto file = Run({"import", "p", "--input", Path("none")});
  EXPECT_EQ(file.exit_code, 4);
  EXPECT_THAT(file.error, HasSubstr(Path("none")));
  const auto place = Run({"export", "p", "--output", Path("no/folder")});
  EXPECT_EQ(place.exit_code, 4);
  EXPECT_THAT(place.error, HasSubstr("No such file or directory"));
  WriteHex("junk", "ff");
  EXPECT_THAT(Run({"import", "p", "--format", "qemu", "--input", Path("junk")}).error,
              HasSubstr("byte 0: 0xff begins no section"));
  EXPECT_EQ(Run({"export", "p", "--json"}).exit_code, 2);
  EXPECT_EQ(Run({"export", "p", "--format", "other"}).exit_code, 2);
  EXPECT_EQ(Run({"export", "p", "--passes", "2", "--follow"}).exit_code, 2);
}

class HptctlFollowTest : public HptctlStreamTest {
 protected:
  // Waits until the file has at least so many bytes.
  bool WaitForBytes(const std::string& name, uintmax_t bytes) const {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::error_code missing;
    while (std::chrono::steady_clock::now() < give_up) {
      const uintmax_t size = std::filesystem::file_size(Path(name), missing);
      if (!missing && size >= bytes) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  void Remove918() const {
    EXPECT_EQ(Run({"hcall", "H_REMOVE", "0", "0x918", "0", "--partition", "p"}).exit_code, 0);
  }
};

TEST_F(HptctlFollowTest, PassesFollowTheGuestUntilASignal) {
  ImportExample("p");
  HptctlProcess process(target_, {"export", "p", "--follow", "--interval", "0.05", "--json",
                                  "--output", Path("followed")});
  ASSERT_TRUE(WaitForBytes("followed", 56));
  Remove918();
  ASSERT_TRUE(WaitForBytes("followed", 64));
  process.Signal(SIGINT);
  const auto result = process.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.error;
  const auto summary = nlohmann::json::parse(result.output);
  EXPECT_EQ(summary["valid"], 2);
  EXPECT_EQ(summary["records"], 4);
  EXPECT_GE(summary["passes"], 3);
  EXPECT_EQ(ReadHex("followed"), absl::StrCat(kKvm, "1809000000000100"));
}

TEST_F(HptctlFollowTest, ASignalEndsAnExportOfSoManyPasses) {
  HptctlProcess process(target_, {"export", "p", "--passes", "1000", "--output", Path("ended")});
  ASSERT_TRUE(WaitForBytes("ended", 8));
  process.Signal(SIGTERM);
  const auto result = process.Wait();
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
  EXPECT_THAT(result.error, HasSubstr("interrupted"));
  EXPECT_FALSE(std::filesystem::exists(Path("ended")));
}

// The wrong behaviour: the export went on with the table of before the reset (case G9).
TEST_F(HptctlFollowTest, AResetEndsTheExport) {
  HptctlProcess process(
      target_, {"export", "p", "--follow", "--interval", "0.05", "--output", Path("reset")});
  ASSERT_TRUE(WaitForBytes("reset", 8));
  EXPECT_EQ(Run({"partition", "reset", "p"}).exit_code, 0);
  const auto result = process.Wait();
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.error, HasSubstr("reset or resized"));
  EXPECT_FALSE(std::filesystem::exists(Path("reset")));
}

// hpt-format 9: the example as it is sent, with the entry removed between the passes.
TEST_F(HptctlFollowTest, QemusExampleByteForByte) {
  ImportExample("p");
  HptctlProcess process(target_, {"export", "p", "--format", "qemu", "--section-id", "3",
                                  "--passes", "2", "--interval", "3", "--output", Path("qemu")});
  ASSERT_TRUE(WaitForBytes("qemu", 103));
  Remove918();
  EXPECT_EQ(process.Wait().exit_code, 0);
  EXPECT_EQ(ReadHex("qemu"), kQemuWithChange);
}

}  // namespace
}  // namespace papr::client

#include "server/flags.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/partition_file.h"
#include "server/version.h"

namespace papr::server {
namespace {

// A number of bytes as a flag: 512M, 64T, 0x1000.
struct ByteCount {
  uint64_t bytes = 0;
};

bool AbslParseFlag(absl::string_view text, ByteCount* out, std::string* error) {
  const auto bytes = hcall::ParseBytes(std::string_view(text.data(), text.size()));
  if (!bytes.ok()) {
    *error = std::string(bytes.status().message());
    return false;
  }
  out->bytes = *bytes;
  return true;
}

std::string AbslUnparseFlag(ByteCount count) {
  constexpr absl::string_view kSuffixes = "KMGT";
  uint64_t number = count.bytes;
  size_t suffixes = 0;
  while (number != 0 && number % 1024 == 0 && suffixes < kSuffixes.size()) {
    number /= 1024;
    ++suffixes;
  }
  return absl::StrCat(number, suffixes > 0 ? kSuffixes.substr(suffixes - 1, 1) : "");
}

constexpr std::pair<const char*, LogLevel> kLevels[] = {{"debug", LogLevel::kDebug},
                                                        {"info", LogLevel::kInfo},
                                                        {"warning", LogLevel::kWarning},
                                                        {"error", LogLevel::kError},
                                                        {"off", LogLevel::kOff}};

}  // namespace

// Found by Abseil as neighbours of LogLevel.
bool AbslParseFlag(absl::string_view text, LogLevel* out, std::string* error);
std::string AbslUnparseFlag(LogLevel level);

bool AbslParseFlag(absl::string_view text, LogLevel* out, std::string* error) {
  for (const auto& [name, level] : kLevels) {
    if (text != name) continue;
    *out = level;
    return true;
  }
  *error = "one of debug, info, warning, error, off";
  return false;
}

std::string AbslUnparseFlag(LogLevel level) { return kLevels[static_cast<int>(level)].first; }

namespace {

// Every value of a flag that may be given more than once. Abseil calls back with each.
std::vector<std::string>& ListenValues() {
  static auto* values = new std::vector<std::string>;
  return *values;
}
std::vector<std::string>& PartitionValues() {
  static auto* values = new std::vector<std::string>;
  return *values;
}

}  // namespace
}  // namespace papr::server

ABSL_FLAG(std::string, listen, "127.0.0.1:50051",
          "HOST:PORT to serve gRPC on. May be given more than once or hold several, separated by "
          "commas. Port 0 takes a free one; the address is printed. Empty: no TCP.")
    .OnUpdate([] { papr::server::ListenValues().push_back(absl::GetFlag(FLAGS_listen)); });
ABSL_FLAG(std::string, unix_socket, "",
          "Path of a Unix socket to serve gRPC on as well. A file that a dead daemon left is "
          "replaced; the file is removed at exit.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9464",
          "HOST:PORT to serve Prometheus metrics on, at /metrics. Port 0 takes a free one. Empty: "
          "no metrics.");
ABSL_FLAG(bool, insecure, false,
          "Serve addresses that other machines reach, although callers are not identified.");
ABSL_FLAG(std::string, partition, "",
          "A partition to create at start; may be given more than once. For example "
          "name=lpar1,order=24,ram=0:1G,ram=4G:512M,profile=kvm-hv,processor=power9. Keys: name, "
          "order, ram, io, profile, processor, mmu, page-sizes, page-match, features, no-FEATURE, "
          "block-remove, max-order, resize, strict-flags, hash-opcode-base.")
    .OnUpdate([] {
      // The first call is for the default.
      const std::string value = absl::GetFlag(FLAGS_partition);
      if (!value.empty()) papr::server::PartitionValues().push_back(value);
    });
ABSL_FLAG(
    std::string, partition_file, "",
    "File of partitions to create at start, one as for --partition a line; # begins a comment.");
ABSL_FLAG(papr::server::LogLevel, log_level, papr::server::LogLevel::kInfo,
          "Least level of what is logged to standard error: debug, info, warning, error, off.");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(10),
          "After SIGTERM or SIGINT: how long to wait for calls in progress.");
ABSL_FLAG(absl::Duration, idle_timeout, absl::Hours(1),
          "A connection without RPCs for so long is closed; clients reconnect by themselves.");
ABSL_FLAG(absl::Duration, keepalive_interval, absl::Minutes(1),
          "How often a silent connection is probed, so that those of dead clients end.");
ABSL_FLAG(uint64_t, max_partitions, papr::server::Limits().max_partitions, "Partitions at a time.");
ABSL_FLAG(papr::server::ByteCount, max_hpt_bytes,
          papr::server::ByteCount{papr::server::Limits().max_hpt_bytes},
          "Bytes of page tables in all, as reserved: 2 to the power of each order, with suffix K, "
          "M, G or T. Host memory is taken as tables fill.");
ABSL_FLAG(uint64_t, max_batch_hcalls, papr::server::Limits().max_batch_hcalls,
          "Hcalls in one HcallBatch, and updates in one SetReferenceChange.");
ABSL_FLAG(papr::server::ByteCount, max_message_bytes,
          papr::server::ByteCount{papr::server::Limits().max_message_bytes},
          "Bytes of one request.");
ABSL_FLAG(uint64_t, max_concurrent_rpcs, papr::server::Limits().max_concurrent_rpcs,
          "RPCs in progress on one connection; clients wait with more.");
ABSL_FLAG(uint64_t, max_queued_operations, papr::server::Limits().max_queued_operations,
          "Resets and resizes that may wait for a thread, and as many scans.");
ABSL_FLAG(
    uint64_t, metrics_max_partitions, papr::server::Limits().metrics_max_partitions,
    "Partitions that have a label of their own in the metrics; the rest are summed as `other`.");

namespace papr::server {
namespace {

constexpr char kUsage[] =
    "serves the hashed page tables of simulated PowerPC partitions, and the PAPR hypercalls on "
    "them, over gRPC.\n\n"
    "It prints the addresses it listens on to standard output, one a line (`listening grpc "
    "HOST:PORT`, `listening unix PATH`, `listening metrics URL`), then `ready`. SIGTERM or SIGINT "
    "ends it once calls in progress are done; a second one at once.";

void ConfigureUsage() {
  absl::SetProgramUsageMessage(kUsage);
  absl::FlagsUsageConfig config;
  // The daemon's flags are all in this file; --helpfull adds those of libraries.
  config.contains_help_flags = [](absl::string_view file) {
    return absl::EndsWith(file, "server/flags.cc");
  };
  config.contains_helpshort_flags = config.contains_help_flags;
  config.version_string = [] { return absl::StrCat("hptd ", kVersion, "\n"); };
  absl::SetFlagsUsageConfig(config);
}

// Abseil exits with 1 after help; who asks for it has been served. Only while it parses.
bool parsing_help = false;

bool AsksForHelp(std::span<char* const> arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](absl::string_view argument) {
    return argument == "--help" || argument == "-help" || absl::StartsWith(argument, "--help=") ||
           argument == "--helpfull" || argument == "--helpshort";
  });
}

void SucceedAfterHelp() {
  if (!parsing_help) return;
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(EXIT_SUCCESS);
}

absl::Status BadFlag(absl::string_view flag, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, ": ", what));
}

absl::StatusOr<std::vector<ListenAddress>> Addresses(absl::string_view flag,
                                                     const std::vector<std::string>& values) {
  std::vector<ListenAddress> addresses;
  for (const std::string& value : values) {
    if (value.empty()) continue;
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      auto address = ParseListenAddress(absl::StripAsciiWhitespace(part));
      if (!address.ok()) return BadFlag(flag, address.status().message());
      addresses.push_back(*std::move(address));
    }
  }
  return addresses;
}

absl::StatusOr<std::vector<PartitionAtStart>> Partitions() {
  std::vector<PartitionAtStart> partitions;
  for (const std::string& value : PartitionValues()) {
    auto partition = ParsePartition(value, "--partition");
    if (!partition.ok()) return partition.status();
    partitions.push_back(*std::move(partition));
  }
  const std::string path = absl::GetFlag(FLAGS_partition_file);
  if (path.empty()) return partitions;
  if (absl::Status s = ReadPartitionFile(path, partitions); !s.ok()) return s;
  return partitions;
}

// A limit that gRPC keeps in an int.
absl::Status CheckInt(absl::string_view flag, uint64_t value) {
  constexpr uint64_t kMost = std::numeric_limits<int>::max();
  if (value >= 1 && value <= kMost) return absl::OkStatus();
  return BadFlag(flag, absl::StrCat(value, " is outside 1..", kMost));
}

absl::Status SetLimits(Limits& limits) {
  limits.max_partitions = absl::GetFlag(FLAGS_max_partitions);
  limits.max_hpt_bytes = absl::GetFlag(FLAGS_max_hpt_bytes).bytes;
  limits.max_batch_hcalls = absl::GetFlag(FLAGS_max_batch_hcalls);
  limits.max_message_bytes = absl::GetFlag(FLAGS_max_message_bytes).bytes;
  limits.max_concurrent_rpcs = absl::GetFlag(FLAGS_max_concurrent_rpcs);
  limits.max_queued_operations = absl::GetFlag(FLAGS_max_queued_operations);
  limits.metrics_max_partitions = absl::GetFlag(FLAGS_metrics_max_partitions);
  for (const auto& [flag, value] :
       {std::pair("max_batch_hcalls", limits.max_batch_hcalls),
        std::pair("max_message_bytes", limits.max_message_bytes),
        std::pair("max_concurrent_rpcs", limits.max_concurrent_rpcs),
        std::pair("max_queued_operations", limits.max_queued_operations)}) {
    if (absl::Status s = CheckInt(flag, value); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status SetDurations(CommandLine& line) {
  line.drain_timeout = absl::GetFlag(FLAGS_drain_timeout);
  line.server.idle_timeout = absl::GetFlag(FLAGS_idle_timeout);
  line.server.keepalive_interval = absl::GetFlag(FLAGS_keepalive_interval);
  if (line.drain_timeout < absl::ZeroDuration()) return BadFlag("drain_timeout", "is negative");
  // Below a second clients would be cut off, or probed, faster than a network may answer.
  for (const auto& [flag, value] :
       {std::pair("idle_timeout", line.server.idle_timeout),
        std::pair("keepalive_interval", line.server.keepalive_interval)}) {
    if (value < absl::Seconds(1)) return BadFlag(flag, "is less than 1s");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandLine> ParseFlags(int argc, char** argv) {
  ConfigureUsage();
  parsing_help = AsksForHelp({argv, static_cast<size_t>(argc)});
  std::atexit(SucceedAfterHelp);
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  parsing_help = false;
  if (rest.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("unexpected argument \"", rest[1], "\""));
  }
  CommandLine line;
  line.log_level = absl::GetFlag(FLAGS_log_level);
  std::vector<std::string> listen = ListenValues();
  // The default comes first and counts only if nothing else does.
  if (listen.size() > 1) listen.erase(listen.begin());
  auto addresses = Addresses("listen", listen);
  if (!addresses.ok()) return addresses.status();
  line.server.listen = *std::move(addresses);
  auto metrics = Addresses("metrics_listen", {absl::GetFlag(FLAGS_metrics_listen)});
  if (!metrics.ok()) return metrics.status();
  if (metrics->size() > 1) return BadFlag("metrics_listen", "takes one address");
  line.server.metrics_listen = *std::move(metrics);
  line.server.unix_socket = absl::GetFlag(FLAGS_unix_socket);
  if (absl::GetFlag(FLAGS_insecure)) line.server.exposure = Exposure::kInsecure;
  if (absl::Status s = SetLimits(line.server.limits); !s.ok()) return s;
  if (absl::Status s = SetDurations(line); !s.ok()) return s;
  auto partitions = Partitions();
  if (!partitions.ok()) return partitions.status();
  line.server.partitions = *std::move(partitions);
  return line;
}

}  // namespace papr::server

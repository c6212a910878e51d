// hptctl export: a partition's table to a file, and what changes in it.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/hpt_stream.h"
#include "client/hptctl/commands.h"
#include "client/hptctl/export_format.h"
#include "client/hptctl/interrupt.h"
#include "client/output_file.h"
#include "client/partition_admin.h"

namespace papr::client::hptctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kReadBytes = uint32_t{1} << 20;
constexpr std::chrono::seconds kProgressInterval{2};
constexpr std::chrono::milliseconds kInterruptPoll{50};

struct ExportArguments {
  std::string partition;
  std::string output = "-";
  bool qemu = false;
  int passes = 1;
  bool follow = false;
  double interval = 1;  // seconds between passes
  bool big_endian = false;
  hcall::HtabExport::Options options;
  mmu::QemuHtabWriter::Options section;
};

struct ExportCounts {
  uint64_t passes = 0;
  uint64_t records = 0;
  uint64_t valid = 0;    // entries
  uint64_t invalid = 0;  // entries
  uint64_t bytes = 0;    // before compression
};

class Exporting {
 public:
  Exporting(const ExportArguments& arguments, std::shared_ptr<Connection> connection,
            std::unique_ptr<ExportFormat> format, OutputFile* output)
      : arguments_(arguments),
        format_(std::move(format)),
        output_(output),
        export_(std::move(connection), arguments.partition, arguments.options),
        parser_(std::endian::little) {}

  absl::Status Run() {
    format_->Begin(&pending_);
    bool last = false;
    while (!last) {
      if (counts_.passes > 0) Wait();
      const bool interrupted = Interrupted();
      if (interrupted && !arguments_.follow) return absl::CancelledError("interrupted");
      last = arguments_.follow ? interrupted
                               : counts_.passes + 1 == static_cast<uint64_t>(arguments_.passes);
      if (absl::Status status = Pass(last); !status.ok()) return status;
    }
    format_->End(&pending_);
    if (absl::Status status = Write(); !status.ok()) return status;
    return output_->Finish();
  }

  const ExportCounts& counts() const { return counts_; }

 private:
  absl::Status Pass(bool last) {
    format_->BeginPass(counts_.passes == 0, last, &pending_);
    for (bool end = false; !end;) {
      if (Interrupted() && !arguments_.follow) return absl::CancelledError("interrupted");
      absl::StatusOr<mmu::v1::ExportHptResponse> read = export_.Read(kReadBytes);
      if (!read.ok()) return read.status();
      Take(read->data());
      if (absl::Status status = Write(); !status.ok()) return status;
      end = read->end_of_pass();
      ReportProgress();
    }
    format_->EndPass(&pending_);
    ++counts_.passes;
    if (absl::Status status = Write(); !status.ok()) return status;
    return output_->Flush();
  }

  void Take(std::string_view data) {
    parser_.Append(data);
    while (const auto record = parser_.Next()) {
      ++counts_.records;
      counts_.valid += record->header.n_valid;
      counts_.invalid += record->header.n_invalid;
      format_->Record(*record, &pending_);
    }
  }

  absl::Status Write() {
    const absl::Status status = output_->Write(pending_);
    counts_.bytes += pending_.size();
    pending_.clear();
    return status;
  }

  void Wait() const {
    const auto end = Clock::now() + std::chrono::duration<double>(arguments_.interval);
    while (Clock::now() < end && !Interrupted()) {
      std::this_thread::sleep_for(std::min<Clock::duration>(
          kInterruptPoll, std::chrono::duration_cast<Clock::duration>(end - Clock::now())));
    }
  }

  void ReportProgress() {
    if (isatty(STDERR_FILENO) == 0 || Clock::now() - last_progress_ < kProgressInterval) return;
    last_progress_ = Clock::now();
    absl::FPrintF(stderr, "%s: pass %d, %d valid and %d other entries, %d bytes\n",
                  arguments_.partition, counts_.passes + 1, counts_.valid, counts_.invalid,
                  counts_.bytes);
  }

  const ExportArguments& arguments_;
  const std::unique_ptr<ExportFormat> format_;
  OutputFile* const output_;
  HptExport export_;
  mmu::HtabStreamParser parser_;
  std::string pending_;  // to be written
  ExportCounts counts_;
  Clock::time_point last_progress_ = Clock::now();
};

void Print(const Context& context, const ExportArguments& arguments, const ExportCounts& counts) {
  if (arguments.output == "-") return;  // where the stream went
  if (!context.json) {
    absl::PrintF("%s: %d passes, %d valid and %d other entries in %d records, %d bytes\n",
                 arguments.partition, counts.passes, counts.valid, counts.invalid, counts.records,
                 counts.bytes);
    return;
  }
  PrintJson({{"partition", arguments.partition},
             {"file", arguments.output},
             {"format", arguments.qemu ? "qemu" : "kvm"},
             {"passes", counts.passes},
             {"records", counts.records},
             {"valid", counts.valid},
             {"invalid", counts.invalid},
             {"bytes", counts.bytes}});
}

int Export(const Context& context, const ExportArguments& arguments) {
  if (arguments.output == "-" && context.json) {
    return FailUsage("--json needs --output FILE: standard output is the table's");
  }
  if (arguments.output == "-" && isatty(STDOUT_FILENO) != 0) {
    return FailUsage("the table is no text for a terminal: give --output FILE");
  }
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  absl::StatusOr<mmu::v1::Partition> partition =
      PartitionAdmin(*connection).Get(arguments.partition);
  if (!partition.ok()) return Fail(partition.status());
  std::optional<int> order;
  if (partition->order() != 0) order = static_cast<int>(partition->order());
  absl::StatusOr<std::unique_ptr<OutputFile>> output = OutputFile::Open(arguments.output);
  if (!output.ok()) return Fail(output.status());
  auto format = arguments.qemu
                    ? MakeQemuFormat(arguments.section, order, arguments.options.kvm_exact)
                    : MakeKvmFormat(arguments.big_endian ? std::endian::big : std::endian::little);
  CatchInterrupts();
  Exporting exporting(arguments, *connection, std::move(format), output->get());
  const absl::Status status = exporting.Run();
  if (!status.ok()) return Fail(status);
  if (arguments.qemu) {
    // A resize before the export was opened does not end it, but the section tells the old order.
    const auto after = PartitionAdmin(*connection).Get(arguments.partition);
    if (!after.ok()) return Fail(after.status());
    if (after->order() != partition->order()) {
      return Fail(absl::AbortedError(
          absl::StrFormat("%s: the table was resized from order %d to %d meanwhile, and what was "
                          "written does not fit it: export it again",
                          arguments.partition, partition->order(), after->order())));
    }
  }
  Print(context, arguments, exporting.counts());
  return kExitOk;
}

}  // namespace

void AddExportCommand(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app->add_subcommand(
      "export", "Write a partition's table, and what changes in it, as KVM or QEMU do");
  command->fallthrough();
  command->add_option("PARTITION", arguments->partition, "The partition")->required();
  command
      ->add_option("--output", arguments->output,
                   "The file; compressed if it ends in .zst; -: standard output")
      ->capture_default_str();
  command
      ->add_option_function<std::string>(
          "--format", [arguments](const std::string& name) { arguments->qemu = name == "qemu"; },
          "kvm: the stream of KVM_PPC_GET_HTAB_FD; qemu: the section \"spapr/htab\" of a migration")
      ->check(CLI::IsMember({"kvm", "qemu"}))
      ->default_str("kvm");
  command
      ->add_option("--passes", arguments->passes,
                   "The first describes the table, each further one what has changed")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  CLI::Option* follow = command->add_flag(
      "--follow", arguments->follow, "Pass after pass until SIGINT or SIGTERM, then a last one");
  follow->excludes("--passes");
  command->add_option("--interval", arguments->interval, "Seconds between two passes")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
  command->add_flag("--bolted-only", arguments->options.bolted_only,
                    "Valid entries that are not bolted count as not valid");
  command->add_option("--start", arguments->options.start_index,
                      "Entry (ptex) at which the first pass begins");
  command->add_flag("--kvm-exact", arguments->options.kvm_exact,
                    "V with bit 0x40 set, as KVM writes it; with --format qemu also all invalid "
                    "entries, as QEMU on KVM sends them");
  command->add_flag("--big-endian", arguments->big_endian,
                    "kvm: headers big-endian, as a big-endian host writes them");
  command->add_option("--section-id", arguments->section.section_id, "qemu: number of the section")
      ->capture_default_str();
  command->add_flag_callback(
      "--no-footers", [arguments] { arguments->section.footers = false; },
      "qemu: no footers, as old machine types");
  command->add_flag("--file-header", arguments->section.file_header,
                    "qemu: begin with the header of a whole migration file");
  command->footer(
      "\nHcalls go on meanwhile. If the last pass runs while the guest is at rest, the passes "
      "give\n"
      "exactly its table. A reset or resize of the partition ends the export, exit code 4.\n"
      "\nExamples:\n"
      "  hptctl export lpar1 --output lpar1.htab.zst\n"
      "  hptctl export lpar1 --follow --interval 0.5 | hptctl import lpar2");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Export(*context, *arguments); };
  });
}

}  // namespace papr::client::hptctl

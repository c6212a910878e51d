// hptctl import: a table from a file into a partition.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/hpt_stream.h"
#include "client/hptctl/commands.h"
#include "client/partition_admin.h"
#include "client/zstd_stream.h"
#include "mmu/qemu_htab_section.h"

namespace papr::client::hptctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr std::chrono::seconds kProgressInterval{2};

struct ImportArguments {
  std::string partition;
  std::string input = "-";
  bool qemu = false;
  bool big_endian = false;
};

// Where the bytes go, and what came of them.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual absl::Status Take(std::string_view bytes) = 0;
  virtual absl::Status Finish() = 0;

  struct Totals {
    uint64_t tables = 0;  // that the stream began
    uint64_t records = 0;
    uint64_t stored = 0;
    uint64_t removed = 0;
  };
  const Totals& totals() const { return totals_; }

 protected:
  absl::Status FinishImport(HptImport& import) {
    absl::StatusOr<mmu::v1::ImportHptResponse> done = import.Finish();
    if (!done.ok()) return done.status();
    totals_.records += done->records();
    totals_.stored += done->stored();
    totals_.removed += done->removed();
    if (done->incomplete_bytes() == 0) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrFormat("the stream ends in the middle of record %d, %d bytes behind the last "
                        "whole one, which are stored",
                        done->records() + 1, done->incomplete_bytes()));
  }

  Totals totals_;
};

class KvmSink final : public Sink {
 public:
  KvmSink(std::shared_ptr<Connection> connection, const ImportArguments& arguments)
      : import_(std::move(connection), arguments.partition,
                arguments.big_endian ? std::endian::big : std::endian::little) {}

  absl::Status Take(std::string_view bytes) override { return import_.Write(bytes); }
  absl::Status Finish() override { return FinishImport(import_); }

 private:
  HptImport import_;
};

class QemuSink final : public Sink {
 public:
  QemuSink(std::shared_ptr<Connection> connection, const ImportArguments& arguments)
      : connection_(std::move(connection)), partition_(arguments.partition) {}

  absl::Status Take(std::string_view bytes) override {
    reader_.Append(bytes);
    for (;;) {
      const auto event = reader_.Next();
      if (!event.ok()) return event.status();
      if (!event->has_value()) return Send();
      absl::Status status;
      if (const auto* table = std::get_if<mmu::QemuHtabTable>(&**event)) {
        status = BeginTable(*table);
      } else if (const auto* record = std::get_if<mmu::HtabRecord>(&**event)) {
        AddRecord(*record);
      }
      if (!status.ok()) return status;
    }
  }

  absl::Status Finish() override {
    if (absl::Status status = FinishTable(); !status.ok()) return status;
    return reader_.Finish();
  }

 private:
  // What was there is dropped, whatever its order.
  absl::Status BeginTable(const mmu::QemuHtabTable& table) {
    if (absl::Status status = FinishTable(); !status.ok()) return status;
    absl::StatusOr<mmu::v1::Partition> partition = PartitionAdmin(connection_).Get(partition_);
    if (!partition.ok()) return partition.status();
    const bool radix = partition->order() == 0;
    if (!table.order.has_value() && radix) return absl::OkStatus();
    if (!table.order.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat("the stream is of a guest without a hashed page table, and partition ",
                       partition_, " has one: import it into a partition made with mmu=radix"));
    }
    if (radix) {
      return absl::FailedPreconditionError(
          absl::StrCat("partition ", partition_, " is a radix partition: it has no HPT"));
    }
    ++totals_.tables;
    return PartitionAdmin(connection_).Reset(partition_, table.order).status();
  }

  void AddRecord(const mmu::HtabRecord& record) {
    pending_.resize(pending_.size() + mmu::kHtabHeaderBytes);
    mmu::EncodeHtabHeader(record.header, std::endian::big,
                          pending_.data() + pending_.size() - mmu::kHtabHeaderBytes);
    pending_.append(record.entries);
  }

  absl::Status Send() {
    if (pending_.empty()) return absl::OkStatus();
    if (import_ == nullptr) {
      import_ = std::make_unique<HptImport>(connection_, partition_, std::endian::big);
    }
    const absl::Status status = import_->Write(pending_);
    pending_.clear();
    return status;
  }

  absl::Status FinishTable() {
    if (absl::Status status = Send(); !status.ok()) return status;
    if (import_ == nullptr) return absl::OkStatus();
    const absl::Status status = FinishImport(*import_);
    import_.reset();
    return status;
  }

  const std::shared_ptr<Connection> connection_;
  const std::string partition_;
  mmu::QemuHtabReader reader_;
  std::string pending_;                // records to be sent
  std::unique_ptr<HptImport> import_;  // of the table in progress
};

// Everything from the input into `sink`, in pieces.
absl::Status Feed(const ImportArguments& arguments, Sink& sink, uint64_t* bytes) {
  std::unique_ptr<InputFile> file;
  if (arguments.input != "-") {
    absl::StatusOr<std::unique_ptr<InputFile>> opened = InputFile::Open(arguments.input);
    if (!opened.ok()) return opened.status();
    file = *std::move(opened);
  }
  std::vector<char> piece(kPieceBytes);
  Clock::time_point last_progress = Clock::now();
  for (;;) {
    size_t got = 0;
    if (file != nullptr) {
      file->stream().read(piece.data(), static_cast<std::streamsize>(piece.size()));
      got = static_cast<size_t>(file->stream().gcount());
    } else {
      // Not more than is there: what comes through a pipe is stored as it comes.
      const ssize_t read_now = read(STDIN_FILENO, piece.data(), piece.size());
      if (read_now < 0) return absl::DataLossError("cannot read standard input");
      got = static_cast<size_t>(read_now);
    }
    if (got == 0) break;
    *bytes += got;
    if (absl::Status status = sink.Take({piece.data(), got}); !status.ok()) return status;
    if (isatty(STDERR_FILENO) != 0 && Clock::now() - last_progress >= kProgressInterval) {
      last_progress = Clock::now();
      absl::FPrintF(stderr, "%s: %d bytes sent\n", arguments.partition, *bytes);
    }
  }
  return file != nullptr ? file->status() : absl::OkStatus();
}

int Import(const Context& context, const ImportArguments& arguments) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  std::unique_ptr<Sink> sink;
  if (arguments.qemu) {
    sink = std::make_unique<QemuSink>(*connection, arguments);
  } else {
    sink = std::make_unique<KvmSink>(*connection, arguments);
  }
  uint64_t bytes = 0;
  absl::Status status = Feed(arguments, *sink, &bytes);
  if (status.ok()) status = sink->Finish();
  if (!status.ok()) return Fail(status);
  const Sink::Totals& totals = sink->totals();
  if (!context.json) {
    absl::PrintF("%s: %d entries stored and %d removed by %d records, %d bytes\n",
                 arguments.partition, totals.stored, totals.removed, totals.records, bytes);
    return kExitOk;
  }
  PrintJson({{"partition", arguments.partition},
             {"file", arguments.input},
             {"format", arguments.qemu ? "qemu" : "kvm"},
             {"tables", totals.tables},
             {"records", totals.records},
             {"stored", totals.stored},
             {"removed", totals.removed},
             {"bytes", bytes}});
  return kExitOk;
}

}  // namespace

void AddImportCommand(CLI::App* app, Context* context) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = app->add_subcommand(
      "import", "Store in a partition what an export, KVM or QEMU wrote of a table");
  command->fallthrough();
  command->add_option("PARTITION", arguments->partition, "The partition")->required();
  command
      ->add_option("--input", arguments->input,
                   "The file; decompressed if it ends in .zst; -: standard input")
      ->capture_default_str();
  command
      ->add_option_function<std::string>(
          "--format", [arguments](const std::string& name) { arguments->qemu = name == "qemu"; },
          "kvm: the stream of KVM_PPC_GET_HTAB_FD; qemu: the section \"spapr/htab\" of a migration")
      ->check(CLI::IsMember({"kvm", "qemu"}))
      ->default_str("kvm");
  command->add_flag("--big-endian", arguments->big_endian,
                    "kvm: headers are big-endian, as a big-endian host writes them");
  command->footer(
      "\nEach entry is stored as H_ENTER with H_EXACT does, over what is in its slot. A record "
      "that\n"
      "is refused ends the import with its number, exit code 4; what came before it stays.\n"
      "--format qemu resets the partition first, to a table of the order that the stream has.\n"
      "\nExamples:\n"
      "  hptctl import lpar2 --input lpar1.htab.zst\n"
      "  hptctl import lpar2 --format qemu --input htab.section");
  command->callback([context, arguments] {
    context->action = [context, arguments] { return Import(*context, *arguments); };
  });
}

}  // namespace papr::client::hptctl

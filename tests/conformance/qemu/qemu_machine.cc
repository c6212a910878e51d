#include "tests/conformance/qemu/qemu_machine.h"

#include <endian.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hcall/abi.h"
#include "hcall/trace.h"
#include "mmu/page_size.h"
#include "mmu/virtual_address.h"

namespace papr::conformance {
namespace {

using hcall::HcallRequest;
using hcall::HcallResult;

class QemuHypervisor : public client::Hypervisor {
 public:
  explicit QemuHypervisor(QemuMachine* machine) : machine_(machine) {}

  absl::StatusOr<HcallResult> Hcall(const HcallRequest& request) override {
    ++round_trips_;
    return machine_->Hcall(request);
  }

  absl::Status HcallBatch(std::span<const HcallRequest> requests, hcall::BatchMode mode,
                          std::vector<HcallResult>* results) override {
    ++round_trips_;
    return machine_->HcallBatch(requests, mode, results);
  }

  uint64_t round_trips() const override { return round_trips_; }

 private:
  QemuMachine* const machine_;
  uint64_t round_trips_ = 0;
};

// A processor leaves no sign of which registers a call defines: this is what the ABI says.
int OutputCount(const HcallRequest& request, int64_t return_code) {
  const bool success = return_code == hcall::kHSuccess;
  switch (request.opcode) {
    case hcall::kHEnter:
      return success ? 1 : 0;
    case hcall::kHRemove:
      return success ? 2 : 0;
    case hcall::kHRead:
      if (!success) return 0;
      return (request.registers[0] & hcall::kFlagRead4) != 0 ? 8 : 2;
    case hcall::kHBulkRemove:
      return success || return_code == hcall::kHParameter ? 8 : 0;
    default:
      return 0;
  }
}

GuestRegisters RegistersOf(const HcallRequest& request) {
  GuestRegisters registers;
  registers[0] = request.opcode;
  std::copy(request.registers.begin(), request.registers.end(), registers.begin() + 1);
  return registers;
}

// To the guest's byte order, or from it.
GuestRegisters BigEndian(GuestRegisters registers) {
  for (uint64_t& value : registers) value = htobe64(value);
  return registers;
}

}  // namespace

std::string AccessResult::Describe() const {
  if (interrupt == 0) return absl::StrFormat("byte 0x%02x", byte);
  return absl::StrFormat("interrupt 0x%x, DSISR 0x%08x, DAR 0x%x", interrupt, dsisr, dar);
}

absl::StatusOr<std::unique_ptr<QemuMachine>> QemuMachine::Create(
    QemuPool* pool, const hcall::PartitionConfig& config) {
  const auto settings = SettingsFor(config);
  if (!settings.ok()) return settings.status();
  auto process = pool->Acquire(*settings);
  if (!process.ok()) return process.status();
  std::unique_ptr<QemuMachine> machine(new QemuMachine(pool, config, *std::move(process)));
  const absl::Status status = machine->MakeFreshTable(config.order);
  if (!status.ok()) return status;
  return machine;
}

QemuMachine::QemuMachine(QemuPool* pool, const hcall::PartitionConfig& config,
                         std::unique_ptr<QemuProcess> process)
    : pool_(pool),
      config_(config),
      process_(std::move(process)),
      order_(NativeOrder(process_->settings())) {}

QemuMachine::~QemuMachine() {
  if (process_ != nullptr) pool_->Release(std::move(process_));
}

std::unique_ptr<client::Hypervisor> QemuMachine::MakeHypervisor() {
  return std::make_unique<QemuHypervisor>(this);
}

absl::StatusOr<HcallResult> QemuMachine::Hcall(const HcallRequest& request) {
  if (request.problem_state) {
    return absl::UnimplementedError("an hcall of a caller in problem state");
  }
  const auto answer = process_->Call(OPERATION_HCALL, RegistersOf(request));
  if (!answer.ok()) return answer.status();
  return ResultOf(request, *answer);
}

HcallResult QemuMachine::ResultOf(const HcallRequest& request, const GuestRegisters& registers) {
  HcallResult result;
  result.return_code = static_cast<int64_t>(registers[0]);
  result.output_count = OutputCount(request, result.return_code);
  std::copy(registers.begin() + 1, registers.end(), result.registers.begin());
  FollowResize(request, result.return_code);
  return result;
}

absl::Status QemuMachine::HcallBatch(std::span<const HcallRequest> requests, hcall::BatchMode mode,
                                     std::vector<HcallResult>* results) {
  constexpr size_t kInBuffer = kGuestBufferBytes / BATCH_HCALL_BYTES;
  static_assert(sizeof(GuestRegisters) == BATCH_HCALL_BYTES);
  const bool stop = mode == hcall::BatchMode::kStopAtFirstError;
  results->clear();
  for (const HcallRequest& request : requests) {
    if (request.problem_state) {
      return absl::UnimplementedError("an hcall of a caller in problem state");
    }
  }
  const std::span<GuestRegisters> buffer(
      reinterpret_cast<GuestRegisters*>(ram().data() + GUEST_BUFFER), kInBuffer);
  while (!requests.empty()) {
    const auto some = requests.first(std::min(requests.size(), kInBuffer));
    requests = requests.subspan(some.size());
    for (size_t i = 0; i < some.size(); ++i) buffer[i] = BigEndian(RegistersOf(some[i]));
    const auto answer = process_->Call(OPERATION_BATCH, {some.size(), uint64_t{stop}});
    if (!answer.ok()) return answer.status();
    const size_t ran = std::min<size_t>((*answer)[0], some.size());
    for (size_t i = 0; i < ran; ++i) {
      results->push_back(ResultOf(some[i], BigEndian(buffer[i])));
    }
    if (stop && results->back().return_code != hcall::kHSuccess) break;
  }
  return absl::OkStatus();
}

void QemuMachine::FollowResize(const HcallRequest& request, int64_t return_code) {
  const int order = static_cast<int32_t>(request.registers[1]);
  if (request.opcode == hcall::kHResizeHptPrepare) {
    if (return_code != hcall::kHSuccess && !hcall::IsLongBusy(return_code)) return;
    pending_order_ = order == 0 ? std::nullopt : std::optional(order);
    pending_ready_ = return_code == hcall::kHSuccess && order != 0;
  } else if (request.opcode == hcall::kHResizeHptCommit) {
    switch (return_code) {
      case hcall::kHAuthority:
      case hcall::kHBusy:
      case hcall::kHClosed:
      case hcall::kHParameter:
        return;
      case hcall::kHSuccess:
        order_ = order;
        break;
      default:
        break;
    }
    pending_order_.reset();
    pending_ready_ = false;
  }
}

absl::Status QemuMachine::Reset(std::optional<int> order) {
  const int wanted = order.value_or(config_.order);
  hcall::PartitionConfig config = config_;
  config.order = wanted;
  if (const absl::Status status = config.Validate(); !status.ok()) return status;
  if (const auto settings = SettingsFor(config); !settings.ok()) return settings.status();
  if (const absl::Status status = process_->Reset(); !status.ok()) return status;
  order_ = NativeOrder(process_->settings());
  pending_order_.reset();
  pending_ready_ = false;
  return MakeFreshTable(wanted);
}

absl::Status QemuMachine::MakeFreshTable(int order) {
  if (order == order_) return absl::OkStatus();
  if (const absl::Status status = Resize(order); !status.ok()) return status;
  // Any page of RAM does.
  const uint64_t entries = uint64_t{1} << (order - 4);
  const GuestRegisters range = {0, entries / 4, mmu::kVValid, mmu::kRCoherent};
  const auto answer = process_->Call(OPERATION_AGE_TABLE, range);
  if (!answer.ok()) return answer.status();
  if ((*answer)[0] == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "ageing the table: ", hcall::ReturnCodeName(static_cast<int64_t>((*answer)[0]))));
}

absl::Status QemuMachine::Resize(int order) {
  const uint64_t shift = static_cast<uint64_t>(order);
  absl::StatusOr<HcallResult> result;
  do {
    result = Hcall({.opcode = hcall::kHResizeHptPrepare, .registers = {0, shift}});
    if (!result.ok()) return result.status();
  } while (hcall::IsLongBusy(result->return_code));
  if (result->return_code == hcall::kHSuccess) {
    result = Hcall({.opcode = hcall::kHResizeHptCommit, .registers = {0, shift}});
    if (!result.ok()) return result.status();
  }
  if (result->return_code == hcall::kHSuccess) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("resize to order ", order, ": ", hcall::ReturnCodeName(result->return_code)));
}

absl::StatusOr<std::vector<mmu::Hpte>> QemuMachine::ReadTable() {
  constexpr uint64_t kEntriesInBuffer = kGuestBufferBytes / sizeof(mmu::Hpte);
  const uint64_t entries = uint64_t{1} << (order_ - 4);
  std::vector<mmu::Hpte> table(entries);
  for (uint64_t first = 0; first < entries; first += kEntriesInBuffer) {
    const uint64_t count = std::min(kEntriesInBuffer, entries - first);
    const auto answer = process_->Call(OPERATION_READ_TABLE, {first, count / 4});
    if (!answer.ok()) return answer.status();
    if ((*answer)[0] != 0) return absl::InternalError("H_READ fails inside the table");
    std::memcpy(&table[first], ram().data() + GUEST_BUFFER, count * sizeof(mmu::Hpte));
  }
  for (mmu::Hpte& hpte : table) hpte = {be64toh(hpte.v), be64toh(hpte.r)};
  return table;
}

absl::StatusOr<hcall::HptStatistics> QemuMachine::GetStatistics() {
  const auto table = ReadTable();
  if (!table.ok()) return table.status();
  hcall::HptStatistics statistics;
  statistics.order = order_;
  statistics.table_bytes = statistics.resident_bytes = uint64_t{1} << order_;
  statistics.pending_order = pending_order_;
  statistics.pending_ready = pending_ready_;
  int fill = 0;
  for (uint64_t ptex = 0; ptex < table->size(); ++ptex) {
    const mmu::Hpte& hpte = (*table)[ptex];
    if ((hpte.v & mmu::kVValid) != 0) {
      ++fill;
      ++statistics.valid;
      if ((hpte.v & mmu::kVBolted) != 0) ++statistics.bolted;
      if ((hpte.v & mmu::kVSecondary) != 0) ++statistics.secondary;
      if ((hpte.v & mmu::kVLarge) != 0) ++statistics.large;
      statistics.digest += hcall::DigestTerm(ptex, hpte);
    }
    if (ptex % mmu::kHptesPerPteg == mmu::kHptesPerPteg - 1) {
      ++statistics.pteg_fill[std::exchange(fill, 0)];
    }
  }
  return statistics;
}

absl::Status QemuMachine::FinishResizePreparation(int, int64_t) {
  return absl::UnimplementedError("QEMU ends the preparation of a resize by itself");
}

absl::StatusOr<mmu::TableCheckReport> QemuMachine::Check(size_t) {
  return absl::UnimplementedError("QEMU does not check its table");
}

absl::StatusOr<hcall::DeviceTree> QemuMachine::GetDeviceTree() {
  return absl::UnimplementedError("the device tree of QEMU is not read");
}

}  // namespace papr::conformance

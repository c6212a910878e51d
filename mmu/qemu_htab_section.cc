#include "mmu/qemu_htab_section.h"

#include "absl/strings/str_format.h"
#include "mmu/byte_order.h"
#include "mmu/hash_page_table.h"

namespace papr::mmu {
namespace {

constexpr uint32_t kFileMagic = 0x5145564d;  // "QEVM"
constexpr uint32_t kFileVersion = 3;
constexpr uint32_t kSectionVersion = 1;
constexpr uint32_t kInstance = 0;
constexpr char kFooter = 0x7e;
constexpr std::string_view kName = "spapr/htab";
constexpr uint32_t kNoTable = 0xffffffff;

constexpr size_t kFileHeaderBytes = 8;
constexpr size_t kIdBytes = 1 + 4;  // of a section's kind, or of a footer, and the section's number

template <typename Integer>
Integer Load(std::string_view bytes, size_t offset) {
  return LoadInteger<Integer>(bytes.data() + offset, std::endian::big);
}

void Put32(uint32_t value, std::string* out) {
  out->resize(out->size() + sizeof(value));
  StoreInteger(value, std::endian::big, out->data() + out->size() - sizeof(value));
}

}  // namespace

void QemuHtabReader::Append(std::string_view bytes) {
  buffer_.erase(0, taken_);
  dropped_ += taken_;
  taken_ = 0;
  buffer_.append(bytes);
}

absl::Status QemuHtabReader::Refuse(std::string_view what) const {
  return absl::InvalidArgumentError(absl::StrFormat("byte %d: %s", dropped_ + taken_, what));
}

absl::StatusOr<std::optional<QemuHtabEvent>> QemuHtabReader::Next() {
  for (;;) {
    switch (state_) {
      case State::kFile:
      case State::kSection: {
        const auto taken = state_ == State::kFile ? TakeFileHeader() : TakeSectionHeader();
        if (!taken.ok()) return taken.status();
        if (!*taken) return std::nullopt;
        break;
      }
      case State::kTable: {
        auto event = TakeTable();
        if (!event.ok() || event->has_value() || state_ == State::kTable) return event;
        break;
      }
      case State::kRecords: {
        bool end_of_section = false;
        auto event = TakeRecord(&end_of_section);
        if (event.has_value() || !end_of_section) return event;
        break;
      }
    }
  }
}

// The header of a whole file, if the stream begins with one.
absl::StatusOr<bool> QemuHtabReader::TakeFileHeader() {
  if (left().empty()) return false;
  if (left()[0] == static_cast<char>(kFileMagic >> 24)) {
    if (left().size() < kFileHeaderBytes) return false;
    if (Load<uint32_t>(left(), 0) != kFileMagic) return Refuse("no migration stream of QEMU");
    const auto version = Load<uint32_t>(left(), 4);
    if (version != kFileVersion) {
      return Refuse(absl::StrFormat("version %d of the migration stream is not known", version));
    }
    Take(kFileHeaderBytes);
  }
  state_ = State::kSection;
  return true;
}

// What stands between payloads: the footer of the section before, or the header of the next.
absl::StatusOr<bool> QemuHtabReader::TakeSectionHeader() {
  if (left().empty()) return false;
  const char kind = left()[0];
  if (footer_may_come_ && kind == kFooter) return TakeFooter();
  if (kind == static_cast<char>(Kind::kStart)) return TakeStart();
  if (kind != static_cast<char>(Kind::kPart) && kind != static_cast<char>(Kind::kEnd)) {
    return Refuse(absl::StrFormat("0x%02x begins no section", static_cast<uint8_t>(kind)));
  }
  if (left().size() < kIdBytes) return false;
  const auto id = Load<uint32_t>(left(), 1);
  if (!started_ || id != section_id_) {
    return Refuse(absl::StrFormat("section %d has not been started", id));
  }
  kind_ = static_cast<Kind>(kind);
  Take(kIdBytes);
  state_ = State::kTable;
  return true;
}

absl::StatusOr<bool> QemuHtabReader::TakeFooter() {
  if (left().size() < kIdBytes) return false;
  if (Load<uint32_t>(left(), 1) != section_id_) {
    return Refuse("the footer names another section");
  }
  Take(kIdBytes);
  footer_may_come_ = false;
  return true;
}

absl::StatusOr<bool> QemuHtabReader::TakeStart() {
  if (left().size() < kIdBytes + 1) return false;
  const auto name_bytes = static_cast<uint8_t>(left()[kIdBytes]);
  const size_t header_bytes = kIdBytes + 1 + name_bytes + 8;
  if (left().size() < header_bytes) return false;
  if (const auto name = left().substr(kIdBytes + 1, name_bytes); name != kName) {
    return Refuse(absl::StrFormat("a section that is not \"%s\" stands here", kName));
  }
  if (const auto version = Load<uint32_t>(left(), header_bytes - 4); version != kSectionVersion) {
    return Refuse(absl::StrFormat("version %d of %s is not known", version, kName));
  }
  section_id_ = Load<uint32_t>(left(), 1);
  started_ = true;
  ended_ = false;
  kind_ = Kind::kStart;
  Take(header_bytes);
  state_ = State::kTable;
  return true;
}

// The first word of a payload: 0, and records follow; or a table begins, or there is none.
absl::StatusOr<std::optional<QemuHtabEvent>> QemuHtabReader::TakeTable() {
  if (left().size() < 4) return std::nullopt;
  const auto word = Load<uint32_t>(left(), 0);
  if (word == 0) {
    Take(4);
    state_ = State::kRecords;
    return std::nullopt;
  }
  QemuHtabTable table;
  if (word != kNoTable) {
    if (word < kMinHptOrder || word > kMaxHptOrder) {
      return Refuse(
          absl::StrFormat("an order of %d is outside %d..%d", word, kMinHptOrder, kMaxHptOrder));
    }
    table.order = static_cast<int>(word);
  }
  Take(4);
  EndSection();
  return table;
}

std::optional<QemuHtabEvent> QemuHtabReader::TakeRecord(bool* end_of_section) {
  const auto record = ParseHtabRecord(left(), std::endian::big);
  if (!record.has_value()) return std::nullopt;
  Take(record->bytes());
  if (record->header != HtabHeader{}) return *record;
  EndSection();
  *end_of_section = true;
  if (kind_ == Kind::kEnd) return QemuHtabEnd{};
  return std::nullopt;
}

void QemuHtabReader::EndSection() {
  state_ = State::kSection;
  footer_may_come_ = true;
  ended_ = kind_ == Kind::kEnd;
}

absl::Status QemuHtabReader::Finish() const {
  if (!started_) return absl::DataLossError("there is no section \"spapr/htab\"");
  if (state_ != State::kSection || !left().empty()) {
    return absl::DataLossError("the stream ends in the middle of a section");
  }
  if (!ended_) return absl::DataLossError("the stream ends before the END section");
  return absl::OkStatus();
}

void QemuHtabWriter::Start(std::optional<int> order, std::string* out) const {
  if (options_.file_header) {
    Put32(kFileMagic, out);
    Put32(kFileVersion, out);
  }
  out->push_back(1);
  Put32(options_.section_id, out);
  out->push_back(static_cast<char>(kName.size()));
  out->append(kName);
  Put32(kInstance, out);
  Put32(kSectionVersion, out);
  Put32(order.has_value() ? static_cast<uint32_t>(*order) : kNoTable, out);
  Footer(out);
}

void QemuHtabWriter::Begin(uint8_t kind, uint32_t table, std::string* out) const {
  out->push_back(static_cast<char>(kind));
  Put32(options_.section_id, out);
  Put32(table, out);
}

void QemuHtabWriter::Record(const HtabHeader& header, std::string_view entries,
                            std::string* out) const {
  out->resize(out->size() + kHtabHeaderBytes);
  EncodeHtabHeader(header, std::endian::big, out->data() + out->size() - kHtabHeaderBytes);
  out->append(entries);
}

void QemuHtabWriter::FinishSection(std::string* out) const {
  Record({}, {}, out);
  Footer(out);
}

void QemuHtabWriter::EndWithoutTable(std::string* out) const {
  Begin(3, kNoTable, out);
  Footer(out);
}

void QemuHtabWriter::Footer(std::string* out) const {
  if (!options_.footers) return;
  out->push_back(kFooter);
  Put32(options_.section_id, out);
}

}  // namespace papr::mmu

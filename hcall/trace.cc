#include "hcall/trace.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace papr::hcall {
namespace {

absl::Status LineError(uint64_t line, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrFormat("line %d: %s", line, absl::string_view(what.data(), what.size())));
}

// The fields of a record, separated by single spaces. A field that is missing or no number sets
// ok() to false and reads as 0.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  bool ok() const { return ok_; }
  bool more() const { return !text_.empty(); }
  std::string_view rest() const { return text_; }

  std::string_view Word() {
    const size_t end = text_.find(' ');
    const std::string_view word = text_.substr(0, end);
    text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
    if (word.empty()) ok_ = false;
    return word;
  }
  uint64_t Hex() { return Number<uint64_t>(16); }
  int64_t Decimal() { return Number<int64_t>(10); }
  // An HPT order or another small number.
  int Small() {
    const int64_t value = Decimal();
    if (value < 0 || value > 1'000'000) ok_ = false;
    return static_cast<int>(value);
  }
  mmu::Hpte Hpte() {
    const uint64_t v = Hex();
    return {v, Hex()};
  }

 private:
  template <typename T>
  T Number(int base) {
    const std::string_view word = Word();
    T value{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc() || end != word.data() + word.size()) {
      ok_ = false;
      return T{};
    }
    return value;
  }

  std::string_view text_;
  bool ok_ = true;
};

// cpu opcode argument... = rc output...
TraceHcall ParseHcall(Fields& fields, bool* ok) {
  TraceHcall hcall;
  hcall.cpu = fields.Small();
  hcall.opcode = fields.Hex();
  while (fields.more() && fields.rest().front() != '=' && hcall.argument_count < kRegisterCount) {
    hcall.arguments[hcall.argument_count++] = fields.Hex();
  }
  *ok = fields.Word() == "=";
  hcall.return_code = fields.Decimal();
  while (fields.more() && hcall.output_count < kRegisterCount) {
    hcall.outputs[hcall.output_count++] = fields.Hex();
  }
  return hcall;
}

// The record that `line` is; `ok` is false if it is none.
TraceRecord ParseRecord(std::string_view line, bool* ok) {
  Fields fields(line);
  const std::string_view kind = fields.Word();
  TraceRecord record;
  *ok = true;
  if (kind == "H") {
    record = ParseHcall(fields, ok);
  } else if (kind == "E") {
    const uint64_t ptex = fields.Hex();
    record = TraceEntry{ptex, fields.Hpte()};
  } else if (kind == "I") {
    const uint64_t ptex = fields.Hex();
    record = TraceInitial{ptex, fields.Hpte()};
  } else if (kind == "R" || kind == "C") {
    const int cpu = fields.Small();
    record = TraceWalk{cpu, fields.Hex(), kind == "C"};
  } else if (kind == "K") {
    const int64_t valid = fields.Decimal();
    record = TraceCheckpoint{static_cast<uint64_t>(valid), fields.Hex()};
  } else if (kind == "P") {
    const int order = fields.Small();
    record = TracePrepared{order, fields.Decimal()};
  } else if (kind == "A") {
    const int order = fields.Small();
    record = TraceAllocate{order, fields.Hpte()};
  } else if (kind == "F") {
    record = TraceFree{fields.Small()};
  } else if (kind == "O") {
    const uint64_t opcode = fields.Hex();
    record = TraceOther{opcode, static_cast<uint64_t>(fields.Decimal())};
  } else if (kind == "M") {
    record = TraceMark{std::string(fields.rest())};
    return record;
  } else {
    *ok = false;
  }
  *ok = *ok && fields.ok() && !fields.more();
  return record;
}

absl::StatusOr<mmu::SegmentPageSize> ParseSegment(std::string_view line) {
  Fields fields(line);
  const auto hex = [](std::string_view text, uint32_t* value) {
    return absl::SimpleHexAtoi(absl::string_view(text.data(), text.size()), value);
  };
  mmu::SegmentPageSize segment;
  segment.base = fields.Small();
  bool ok = hex(fields.Word(), &segment.slb);
  while (ok && fields.more()) {
    const std::string_view word = fields.Word();
    const size_t colon = word.find(':');
    uint32_t lp = 0;
    int actual = 0;
    ok = colon != std::string_view::npos &&
         absl::SimpleAtoi(absl::string_view(word.data(), colon), &actual) &&
         hex(word.substr(colon + 1), &lp);
    segment.encodings.push_back({actual, lp});
  }
  if (!ok || !fields.ok()) return absl::InvalidArgumentError("header: a malformed sps line");
  return segment;
}

// A header number: decimal, or hexadecimal with 0x. 0 if the key is missing.
absl::StatusOr<uint64_t> HeaderNumber(const TraceHeader& header, std::string_view key) {
  const std::string_view text = header.Get(key);
  if (text.empty()) return 0;
  const absl::string_view view(text.data(), text.size());
  uint64_t value = 0;
  const bool ok =
      text.rfind("0x", 0) == 0 ? absl::SimpleHexAtoi(view, &value) : absl::SimpleAtoi(view, &value);
  if (!ok) {
    return absl::InvalidArgumentError(
        absl::StrFormat("header: %s is no number", absl::string_view(key.data(), key.size())));
  }
  return value;
}

// RAM: the ram_region lines if there are any; else ram_size at 0, and the whole area for hot-added
// memory, which counts as RAM even where nothing is plugged.
absl::StatusOr<std::vector<MemoryRegion>> HeaderMemory(const TraceHeader& header) {
  std::vector<MemoryRegion> memory;
  for (const auto& [key, value] : header.lines) {
    if (key != "ram_region") continue;
    const size_t space = value.find(' ');
    MemoryRegion region;
    if (space == std::string::npos || !absl::SimpleHexAtoi(value.substr(0, space), &region.base) ||
        !absl::SimpleHexAtoi(value.substr(space + 1), &region.size)) {
      return absl::InvalidArgumentError("header: a malformed ram_region line");
    }
    memory.push_back(region);
  }
  if (!memory.empty()) return memory;
  const auto ram = HeaderNumber(header, "ram_size");
  if (!ram.ok()) return ram.status();
  memory.push_back({0, *ram, MemoryRegion::Kind::kRam});
  const auto base = HeaderNumber(header, "devmem_base");
  if (!base.ok()) return base.status();
  const auto size = HeaderNumber(header, "devmem_size");
  if (!size.ok()) return size.status();
  if (*size != 0) memory.push_back({*base, *size, MemoryRegion::Kind::kRam});
  return memory;
}

// "# key value" -> key, value. False if `line` is no header line.
bool SplitHeader(std::string_view line, std::string* key, std::string* value) {
  if (line.rfind("# ", 0) != 0) return false;
  line.remove_prefix(2);
  const size_t space = line.find(' ');
  *key = line.substr(0, space);
  if (!key->empty() && key->back() == ':') key->pop_back();
  *value = space == std::string_view::npos ? "" : line.substr(space + 1);
  return true;
}

}  // namespace

std::string_view TraceHeader::Get(std::string_view key) const {
  const auto line = std::find_if(lines.begin(), lines.end(),
                                 [key](const auto& entry) { return entry.first == key; });
  return line == lines.end() ? std::string_view() : line->second;
}

absl::StatusOr<PartitionConfig> TraceHeader::ToPartitionConfig() const {
  PartitionConfig config;
  const std::string_view profile = Get("profile");
  if (!profile.empty() && profile != "kvm-hv" && profile != "qemu-tcg") {
    return absl::InvalidArgumentError("header: an unknown profile");
  }
  config.profile = profile == "kvm-hv" ? Profile::kKvmHv : Profile::kQemuTcg;
  config.features = Features::Default(config.profile);
  const auto order = HeaderNumber(*this, "order_start");
  if (!order.ok()) return order.status();
  config.order = static_cast<int>(std::min<uint64_t>(*order, 64));  // Validate() refuses 64
  auto memory = HeaderMemory(*this);
  if (!memory.ok()) return memory.status();
  config.memory = *std::move(memory);

  std::vector<mmu::SegmentPageSize> segments;
  for (const auto& [key, value] : lines) {
    if (key != "sps") continue;
    auto segment = ParseSegment(value);
    if (!segment.ok()) return segment.status();
    segments.push_back(*std::move(segment));
  }
  using Match = mmu::PageSizeTable::Match;
  auto page_sizes = mmu::PageSizeTable::Create(std::move(segments),
                                               config.qemu() ? Match::kWholePage : Match::kLpField);
  if (!page_sizes.ok()) return page_sizes.status();
  config.page_sizes = *std::move(page_sizes);
  // H_BLOCK_REMOVE is in no trace, and not every table has the pairs that it takes by default.
  config.features.block_remove = false;
  config.block_remove_sizes.clear();

  config.resize_permitted = Get("resize_hpt") != "disabled";
  config.resize_preparation = ResizePreparation::kManual;
  // The kvm-hv recordings were made without a quota.
  if (!config.qemu()) config.max_order = mmu::kMaxHptOrder;
  if (absl::Status status = config.Validate(); !status.ok()) return status;
  return config;
}

absl::StatusOr<TraceReader> TraceReader::Open(std::istream& input) {
  TraceReader reader(input);
  while (std::getline(input, reader.line_)) {
    ++reader.line_number_;
    std::string key;
    std::string value;
    if (!SplitHeader(reader.line_, &key, &value)) {
      reader.have_line_ = true;
      break;
    }
    reader.header_.lines.emplace_back(std::move(key), std::move(value));
  }
  const std::string_view version = reader.header_.Get("papr-hpt-trace");
  if (version.empty()) {
    return absl::InvalidArgumentError("not a trace: no 'papr-hpt-trace' header");
  }
  if (version != "1") return absl::InvalidArgumentError("a trace of an unknown version");
  return reader;
}

absl::StatusOr<std::optional<TraceRecord>> TraceReader::Next() {
  if (!have_line_) {
    if (!std::getline(*input_, line_)) {
      if (input_->bad()) return LineError(line_number_ + 1, "the file cannot be read to its end");
      return std::nullopt;
    }
    ++line_number_;
  }
  have_line_ = false;
  bool ok = false;
  TraceRecord record = ParseRecord(line_, &ok);
  if (!ok) return LineError(line_number_, "not a record: " + line_.substr(0, 80));
  return record;
}

absl::StatusOr<TraceFinal> ReadTraceFinal(std::istream& input) {
  TraceFinal final;
  std::string line;
  uint64_t number = 0;
  bool have_valid = false;
  while (std::getline(input, line)) {
    ++number;
    std::string key;
    std::string value;
    if (SplitHeader(line, &key, &value)) {
      Fields fields(value);
      if (key == "order") final.order = fields.Small();
      if (key == "default") final.ground = fields.Hpte();
      if (key == "valid") {
        final.valid = static_cast<uint64_t>(fields.Decimal());
        have_valid = true;
      }
      if (!fields.ok()) return LineError(number, "a malformed header");
      continue;
    }
    Fields fields(line);
    const bool is_entry = fields.Word() == "V";
    const uint64_t ptex = fields.Hex();
    const mmu::Hpte hpte = fields.Hpte();
    if (!is_entry || !fields.ok() || fields.more()) {
      return LineError(number, "not an entry: " + line.substr(0, 80));
    }
    final.entries.emplace_back(ptex, hpte);
  }
  if (final.order == 0 || !have_valid) {
    return absl::InvalidArgumentError("not a final table: no order, or cut off before 'valid'");
  }
  return final;
}

}  // namespace papr::hcall

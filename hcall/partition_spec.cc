#include "hcall/partition_spec.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace papr::hcall {
namespace {

absl::Status Bad(absl::string_view key, absl::string_view value, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": '", value, "' is not ", expected));
}

// Decimal, or hexadecimal with 0x.
bool ParseNumber(absl::string_view text, uint64_t* value) {
  return absl::StartsWith(text, "0x") ? absl::SimpleHexAtoi(text, value)
                                      : absl::SimpleAtoi(text, value);
}

// "4K" -> 12, "16M" -> 24: log2 of a power of two.
absl::StatusOr<int> ParseShift(absl::string_view text) {
  const auto bytes = ParseBytes(std::string_view(text.data(), text.size()));
  if (!bytes.ok()) return bytes.status();
  if (*bytes == 0 || (*bytes & (*bytes - 1)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no power of two"));
  }
  int shift = 0;
  while ((uint64_t{1} << shift) < *bytes) ++shift;
  return shift;
}

// One key of a specification.
class SpecParser {
 public:
  absl::Status Apply(absl::string_view key, absl::string_view value) {
    const bool repeatable = key == "ram" || key == "io";
    if (!repeatable && !seen_.insert(std::string(key)).second) {
      return absl::InvalidArgumentError(absl::StrCat(key, ": given twice"));
    }
    if (key == "name") {
      spec_.name = std::string(value);
      return absl::OkStatus();
    }
    if (key == "ram" || key == "io") return Region(key, value);
    if (key == "page-sizes") return PageSizes(value);
    if (key == "features") return FeatureList(value);
    if (absl::StartsWith(key, "no-") && value.empty()) return SetFeature(key.substr(3), false);
    if (key == "block-remove") return BlockRemove(value);
    if (key == "order") return Integer(key, value, &config().order);
    if (key == "max-order") return Integer(key, value, &config().max_order);
    if (key == "hash-opcode-base") {
      return ParseNumber(value, &config().hash_opcode_base) ? absl::OkStatus()
                                                            : Bad(key, value, "a number");
    }
    return Choice(key, value);
  }

  // Fills in what depends on the profile and checks the whole.
  absl::StatusOr<PartitionSpec> Finish() {
    PartitionConfig& c = config();
    if (c.memory.empty()) c.memory.push_back({0, uint64_t{1} << 30, MemoryRegion::Kind::kRam});
    if (!features_given_) c.features = Features::Default(c.profile);
    for (const auto& [feature, on] : switches_) *feature(c.features) = on;
    if (c.qemu() && segments_.empty()) segments_ = mmu::PageSizeTable::QemuDefault().segments();
    using Match = mmu::PageSizeTable::Match;
    const Match by_profile = c.qemu() ? Match::kWholePage : Match::kLpField;
    if (segments_.empty()) segments_ = mmu::PageSizeTable::Power().segments();
    auto table = mmu::PageSizeTable::Create(std::move(segments_), match_.value_or(by_profile));
    if (!table.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("page-sizes: ", table.status().message()));
    }
    c.page_sizes = *std::move(table);
    if (!block_remove_given_) {
      std::erase_if(c.block_remove_sizes, [&c](const mmu::PageSizes& pair) {
        return !c.page_sizes.LpOf(pair).has_value();
      });
    }
    if (absl::Status status = c.Validate(); !status.ok()) return status;
    return std::move(spec_);
  }

 private:
  using FeatureAccess = bool* (*)(Features&);

  PartitionConfig& config() { return spec_.config; }

  absl::Status Integer(absl::string_view key, absl::string_view value, int* out) {
    return absl::SimpleAtoi(value, out) ? absl::OkStatus() : Bad(key, value, "a whole number");
  }

  absl::Status Region(absl::string_view key, absl::string_view value) {
    const std::vector<absl::string_view> parts = absl::StrSplit(value, ':');
    if (parts.size() != 2) return Bad(key, value, "BASE:SIZE, as in 0:1G");
    MemoryRegion region;
    region.kind = key == "ram" ? MemoryRegion::Kind::kRam : MemoryRegion::Kind::kIo;
    for (const auto& [text, out] :
         {std::pair(parts[0], &region.base), std::pair(parts[1], &region.size)}) {
      const auto bytes = ParseBytes(std::string_view(text.data(), text.size()));
      if (!bytes.ok()) return Bad(key, value, "BASE:SIZE, as in 0:1G");
      *out = *bytes;
    }
    config().memory.push_back(region);
    return absl::OkStatus();
  }

  // BASE/SLB/ACTUAL:LP[/ACTUAL:LP...] joined by ';'
  absl::Status PageSizes(absl::string_view value) {
    constexpr absl::string_view kForm = "power, qemu or 4K/0/4K:0/16M:38;64K/110/64K:1";
    segments_.clear();
    if (value == "power") segments_ = mmu::PageSizeTable::Power().segments();
    if (value == "qemu") segments_ = mmu::PageSizeTable::QemuDefault().segments();
    if (!segments_.empty()) return absl::OkStatus();
    for (const absl::string_view line : absl::StrSplit(value, ';')) {
      const std::vector<absl::string_view> parts = absl::StrSplit(line, '/');
      mmu::SegmentPageSize segment;
      const auto base = ParseShift(parts[0]);
      if (parts.size() < 3 || !base.ok() || !absl::SimpleHexAtoi(parts[1], &segment.slb)) {
        return Bad("page-sizes", line, kForm);
      }
      segment.base = *base;
      for (size_t i = 2; i < parts.size(); ++i) {
        const std::vector<absl::string_view> pair = absl::StrSplit(parts[i], ':');
        const auto actual = ParseShift(pair[0]);
        uint32_t lp = 0;
        if (pair.size() != 2 || !actual.ok() || !absl::SimpleHexAtoi(pair[1], &lp)) {
          return Bad("page-sizes", line, kForm);
        }
        segment.encodings.push_back({*actual, lp});
      }
      segments_.push_back(std::move(segment));
    }
    return absl::OkStatus();
  }

  absl::Status BlockRemove(absl::string_view value) {
    block_remove_given_ = true;
    config().block_remove_sizes.clear();
    for (const absl::string_view text : absl::StrSplit(value, '+', absl::SkipEmpty())) {
      const std::vector<absl::string_view> pair = absl::StrSplit(text, '/');
      if (pair.size() != 2) return Bad("block-remove", text, "BASE/ACTUAL, as in 64K/16M");
      const auto base = ParseShift(pair[0]);
      const auto actual = ParseShift(pair[1]);
      if (!base.ok() || !actual.ok())
        return Bad("block-remove", text, "BASE/ACTUAL, as in 64K/16M");
      config().block_remove_sizes.push_back({*base, *actual});
    }
    return absl::OkStatus();
  }

  absl::Status FeatureList(absl::string_view value) {
    features_given_ = true;
    config().features = {false, false, false, false, false, false, false};
    for (const absl::string_view name : absl::StrSplit(value, '+', absl::SkipEmpty())) {
      if (absl::Status status = SetFeature(name, true); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Switched at the end: the defaults depend on the profile, which may come later.
  absl::Status SetFeature(absl::string_view name, bool on) {
    static constexpr std::pair<absl::string_view, FeatureAccess> kFeatures[] = {
        {"bulk-remove", [](Features& f) { return &f.bulk_remove; }},
        {"block-remove", [](Features& f) { return &f.block_remove; }},
        {"hash", [](Features& f) { return &f.hash; }},
        {"resize", [](Features& f) { return &f.resize; }},
        {"clear-rc", [](Features& f) { return &f.clear_rc; }},
        {"page-init", [](Features& f) { return &f.page_init; }},
        {"clear-hpt", [](Features& f) { return &f.clear_hpt; }}};
    for (const auto& [known, access] : kFeatures) {
      if (known != name) continue;
      switches_.emplace_back(access, on);
      return absl::OkStatus();
    }
    return Bad("features", name,
               "bulk-remove, block-remove, hash, resize, clear-rc, page-init or clear-hpt");
  }

  // A word out of a few.
  absl::Status Choice(absl::string_view key, absl::string_view value) {
    PartitionConfig& c = config();
    if (key == "profile") {
      return Pick(key, value, {{"kvm-hv", Profile::kKvmHv}, {"qemu-tcg", Profile::kQemuTcg}},
                  &c.profile);
    }
    if (key == "processor") {
      return Pick(key, value,
                  {{"power7", Processor::kPower7},
                   {"power8", Processor::kPower8},
                   {"power9", Processor::kPower9}},
                  &c.processor);
    }
    if (key == "mmu") {
      return Pick(key, value, {{"hash", MmuKind::kHash}, {"radix", MmuKind::kRadix}}, &c.mmu);
    }
    if (key == "page-match") {
      using Match = mmu::PageSizeTable::Match;
      return Pick(key, value, {{"lp", Match::kLpField}, {"whole", Match::kWholePage}},
                  &match_.emplace());
    }
    if (key == "strict-flags") {
      return Pick(key, value, {{"true", true}, {"false", false}}, &c.strict_flags);
    }
    if (key == "track-guest-pages") {
      return Pick(key, value, {{"true", true}, {"false", false}}, &c.track_guest_pages);
    }
    if (key == "resize" && value == "denied") {
      c.resize_permitted = false;
      return absl::OkStatus();
    }
    if (key == "resize") {
      return Pick(
          key, value,
          {{"background", ResizePreparation::kBackground}, {"manual", ResizePreparation::kManual}},
          &c.resize_preparation);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "'", key, "' is no key of a partition: name, order, profile, processor, mmu, ram, io, ",
        "page-sizes, page-match, features, no-FEATURE, block-remove, max-order, resize, ",
        "strict-flags, hash-opcode-base, track-guest-pages"));
  }

  template <typename T>
  static absl::Status Pick(absl::string_view key, absl::string_view value,
                           std::initializer_list<std::pair<absl::string_view, T>> choices, T* out) {
    std::string expected;
    for (const auto& [word, choice] : choices) {
      if (word == value) {
        *out = choice;
        return absl::OkStatus();
      }
      absl::StrAppend(&expected, expected.empty() ? "" : " or ", word);
    }
    return Bad(key, value, expected);
  }

  PartitionSpec spec_;
  std::set<std::string> seen_;  // keys
  bool features_given_ = false;
  bool block_remove_given_ = false;
  std::vector<std::pair<FeatureAccess, bool>> switches_;
  std::vector<mmu::SegmentPageSize> segments_;
  std::optional<mmu::PageSizeTable::Match> match_;
};

}  // namespace

absl::StatusOr<PartitionSpec> ParsePartitionSpec(std::string_view text) {
  SpecParser parser;
  const absl::string_view view(text.data(), text.size());
  for (absl::string_view item : absl::StrSplit(view, ',', absl::SkipWhitespace())) {
    item = absl::StripAsciiWhitespace(item);
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (absl::Status status = parser.Apply(parts.first, parts.second); !status.ok()) return status;
  }
  return parser.Finish();
}

absl::StatusOr<uint64_t> ParseBytes(std::string_view text) {
  const std::string whole(text);
  std::string digits = whole;
  int shift = 0;
  constexpr absl::string_view kSuffixes = "KMGT";
  const size_t suffix = whole.empty() ? absl::string_view::npos : kSuffixes.find(whole.back());
  if (suffix != absl::string_view::npos) {
    shift = 10 * (static_cast<int>(suffix) + 1);
    digits.pop_back();
  }
  uint64_t value = 0;
  if (!ParseNumber(digits, &value) || (value << shift) >> shift != value) {
    return Bad("bytes", whole, "a number of bytes, as in 4096, 0x1000, 64K, 512M, 1G");
  }
  return value << shift;
}

}  // namespace papr::hcall

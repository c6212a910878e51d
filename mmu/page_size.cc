#include "mmu/page_size.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "mmu/hpte.h"

namespace papr::mmu {
namespace {

constexpr int kMinShift = 12;
constexpr int kMaxShift = 40;
constexpr uint32_t kSlbSizeBits = 0x130;
constexpr int kLpBits = 8;

absl::Status CheckSegment(const SegmentPageSize& segment) {
  if (segment.base < kMinShift || segment.base > kMaxShift) {
    return absl::InvalidArgumentError(
        absl::StrFormat("base page shift %d is outside 12..40", segment.base));
  }
  if ((segment.slb & ~kSlbSizeBits) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "SLB encoding 0x%x of base shift %d has bits outside 0x130", segment.slb, segment.base));
  }
  for (size_t i = 0; i < segment.encodings.size(); ++i) {
    const auto& [actual, lp] = segment.encodings[i];
    if (actual < segment.base || actual > kMaxShift) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "actual page shift %d of base shift %d is outside base..40", actual, segment.base));
    }
    const int lp_bits = std::min(actual - kRLpShift, kLpBits);
    if ((lp >> lp_bits) != 0) {
      return absl::InvalidArgumentError(
          absl::StrFormat("LP encoding 0x%x does not fit below a page of shift %d", lp, actual));
    }
    for (size_t j = 0; j < i; ++j) {
      if (segment.encodings[j].actual == actual) {
        return absl::InvalidArgumentError(
            absl::StrFormat("page size pair %d:%d stands twice", segment.base, actual));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PageSizeTable> PageSizeTable::Create(std::vector<SegmentPageSize> segments,
                                                    Match match) {
  PageSizeTable table;
  for (size_t i = 0; i < segments.size(); ++i) {
    if (absl::Status status = CheckSegment(segments[i]); !status.ok()) return status;
    for (size_t j = 0; j < i; ++j) {
      if (segments[j].base == segments[i].base) {
        return absl::InvalidArgumentError(
            absl::StrFormat("base page shift %d stands twice", segments[i].base));
      }
      if (segments[j].slb == segments[i].slb) {
        return absl::InvalidArgumentError(
            absl::StrFormat("SLB encoding 0x%x stands for base shifts %d and %d", segments[i].slb,
                            segments[j].base, segments[i].base));
      }
    }
  }
  table.segments_ = std::move(segments);
  table.match_ = match;
  if (absl::Status status = table.AddLines(); !status.ok()) return status;
  return table;
}

absl::Status PageSizeTable::AddLines() {
  lines_.clear();
  for (const SegmentPageSize& segment : segments_) {
    for (const auto& [actual, lp] : segment.encodings) {
      if (actual == k4K) continue;  // 4K pages have L = 0 and no LP.
      const int compared =
          match_ == Match::kWholePage ? actual - kRLpShift : std::min(actual - kRLpShift, kLpBits);
      const uint64_t mask = ((uint64_t{1} << compared) - 1) << kRLpShift;
      const Line line = {mask, uint64_t{lp} << kRLpShift, {segment.base, actual}};
      for (const Line& other : lines_) {
        if (((line.value ^ other.value) & line.mask & other.mask) == 0) {
          return absl::InvalidArgumentError(
              absl::StrFormat("LP encoding 0x%x of pair %d:%d may also be that of pair %d:%d", lp,
                              segment.base, actual, other.sizes.base, other.sizes.actual));
        }
      }
      lines_.push_back(line);
    }
  }
  // 8 SLB encodings and 29 sizes make at most 232 lines: an index fits, and no two lines share a
  // byte.
  const auto none = static_cast<uint8_t>(lines_.size());
  for (uint32_t byte = 0; byte < line_of_lp_.size(); ++byte) {
    const uint64_t r = uint64_t{byte} << kRLpShift;
    const auto line = std::find_if(lines_.begin(), lines_.end(),
                                   [r](const Line& l) { return (r & l.mask & kRLp) == l.value; });
    line_of_lp_[byte] = line == lines_.end() ? none : static_cast<uint8_t>(line - lines_.begin());
  }
  lines_.push_back(kNoLine);
  return absl::OkStatus();
}

const PageSizeTable& PageSizeTable::Power() {
  static const PageSizeTable table = *Create({{k4K, 0x000, {{k4K, 0}, {k64K, 0x7}, {k16M, 0x38}}},
                                              {k64K, 0x110, {{k64K, 0x1}, {k16M, 0x8}}},
                                              {k16M, 0x100, {{k16M, 0x0}}},
                                              {k16G, 0x120, {{k16G, 0x3}}}},
                                             Match::kLpField);
  return table;
}

const PageSizeTable& PageSizeTable::QemuDefault() {
  static const PageSizeTable table =
      *Create({{k4K, 0x000, {{k4K, 0}}}, {k64K, 0x110, {{k64K, 0x1}}}}, Match::kWholePage);
  return table;
}

std::optional<uint32_t> PageSizeTable::LpOf(PageSizes sizes) const {
  for (const SegmentPageSize& segment : segments_) {
    if (segment.base != sizes.base) continue;
    for (const auto& [actual, lp] : segment.encodings) {
      if (actual == sizes.actual) return lp;
    }
  }
  return std::nullopt;
}

}  // namespace papr::mmu

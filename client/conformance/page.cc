#include "client/conformance/page.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mmu/hash_page_table.h"
#include "mmu/hpte.h"
#include "mmu/page_size.h"
#include "mmu/virtual_address.h"

namespace papr::conformance {
namespace {

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

std::optional<int> PageShift(std::string_view name) {
  if (name == "4K") return mmu::k4K;
  if (name == "64K") return mmu::k64K;
  if (name == "16M") return mmu::k16M;
  if (name == "16G") return mmu::k16G;
  return std::nullopt;
}

// "64K/16M", base and actual, or "4K" for both.
absl::StatusOr<mmu::PageSizes> ParseSizes(const std::string& text) {
  const std::vector<std::string> names = absl::StrSplit(text, '/');
  const std::optional<int> base = PageShift(names.front());
  const std::optional<int> actual = PageShift(names.back());
  if (names.size() > 2 || !base || !actual) {
    return Bad(absl::StrCat("'", text, "' is no page size: 4K, 64K, 16M, 16G or BASE/ACTUAL"));
  }
  return mmu::PageSizes{*base, *actual};
}

// The fields of a page line, with the values that a line need not give.
struct Page {
  mmu::SegmentSize segment = mmu::SegmentSize::k256M;
  mmu::PageSizes sizes;
  std::map<std::string, uint64_t> numbers = {{"pp", 2}, {"key", 0}, {"wimg", 2}};
  uint64_t flags = 0;  // of R
};

// What a word says something of: one of the segment size, the page sizes, a number, a flag.
std::string FieldName(const std::string& word) {
  if (word == "256M" || word == "1T") return "segment size";
  if (ParseSizes(word).ok()) return "page sizes";
  return word.substr(0, word.find('='));
}

absl::Status ParseField(const std::string& word, const Names& names, Page* page) {
  static const std::map<std::string, uint64_t> kFlags = {
      {"N", mmu::kRNoExecute}, {"R", mmu::kRReferenced}, {"C", mmu::kRChanged}};
  const std::pair<std::string, std::string> field = absl::StrSplit(word, absl::MaxSplits('=', 1));
  if (word == "256M" || word == "1T") {
    page->segment = word == "1T" ? mmu::SegmentSize::k1T : mmu::SegmentSize::k256M;
    return absl::OkStatus();
  }
  if (const auto flag = kFlags.find(word); flag != kFlags.end()) {
    page->flags |= flag->second;
    return absl::OkStatus();
  }
  if (field.second.empty()) {
    absl::StatusOr<mmu::PageSizes> sizes = ParseSizes(word);
    if (sizes.ok()) page->sizes = *sizes;
    return sizes.status();
  }
  static const std::map<std::string, uint64_t> kLimits = {{"vsid", ~uint64_t{0}},
                                                          {"ea", ~uint64_t{0}},
                                                          {"ra", ~uint64_t{0}},
                                                          {"pp", 7},
                                                          {"key", 31},
                                                          {"wimg", 15}};
  const auto limit = kLimits.find(field.first);
  if (limit == kLimits.end()) return Bad(absl::StrCat("a page has no field '", word, "'"));
  absl::StatusOr<uint64_t> value = Evaluate(field.second, names);
  if (!value.ok()) return value.status();
  if (*value > limit->second) return Bad(absl::StrCat("'", word, "' is too large"));
  page->numbers[field.first] = *value;
  return absl::OkStatus();
}

// The 3-bit protection value and the storage key in the places that R has for them
// (hpt-format 2.2).
uint64_t ProtectionBits(uint64_t pp, uint64_t key) {
  return ((pp >> 2) << 63) | (pp & mmu::kRPp) | ((key >> 3) << 60) | ((key & 7) << 9);
}

}  // namespace

absl::Status DefinePage(const std::vector<std::string>& words, Names* names) {
  if (words.size() < 3) return Bad("expected: page NAME FIELD...");
  Page page;
  std::set<std::string> given;
  for (size_t i = 2; i < words.size(); ++i) {
    if (!given.insert(FieldName(words[i])).second) {
      return Bad(absl::StrCat("'", words[i], "' gives a field again"));
    }
    if (absl::Status status = ParseField(words[i], *names, &page); !status.ok()) return status;
  }
  for (const char* needed : {"vsid", "ea", "ra"}) {
    if (!page.numbers.contains(needed)) return Bad(absl::StrCat("a page needs ", needed, "="));
  }
  const std::optional<uint32_t> lp = mmu::PageSizeTable::Power().LpOf(page.sizes);
  if (!lp) return Bad("no processor has pages of these sizes");
  const mmu::VirtualAddress va =
      mmu::MakeVirtualAddress(page.segment, page.numbers["vsid"], page.numbers["ea"]);
  const uint64_t avpn = mmu::AvpnWord(va, page.sizes.base);
  const uint64_t hash = mmu::Hash(va, page.sizes.base);
  const uint64_t bits = ProtectionBits(page.numbers["pp"], page.numbers["key"]) |
                        (page.numbers["wimg"] << mmu::kRWimgShift) | page.flags;
  const std::string& name = words[1];
  (*names)[name + ".avpn"] = avpn;
  (*names)[name + ".hash"] = hash;
  (*names)[name + ".v"] = avpn | (page.sizes.actual > mmu::k4K ? mmu::kVLarge : 0) | mmu::kVValid;
  (*names)[name + ".r"] = mmu::EncodeR(page.numbers["ra"], page.sizes.actual, *lp, bits);
  for (int order = mmu::kMinHptOrder; order <= mmu::kMaxHptOrder; ++order) {
    const uint64_t mask = (uint64_t{1} << (order - 7)) - 1;
    (*names)[absl::StrCat(name, ".primary@", order)] = (hash & mask) << mmu::kPtegShift;
    (*names)[absl::StrCat(name, ".secondary@", order)] = (~hash & mask) << mmu::kPtegShift;
  }
  return absl::OkStatus();
}

}  // namespace papr::conformance

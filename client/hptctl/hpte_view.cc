#include "client/hptctl/hpte_view.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/hptctl/context.h"

namespace papr::client::hptctl {
namespace {

bool Has(uint64_t word, uint64_t bit) { return (word & bit) != 0; }

// "WIMG" with a dash for each bit that is clear.
std::string WimgText(uint64_t r) {
  std::string text = "----";
  if (Has(r, mmu::kRWriteThrough)) text[0] = 'W';
  if (Has(r, mmu::kRCacheInhibited)) text[1] = 'I';
  if (Has(r, mmu::kRCoherent)) text[2] = 'M';
  if (Has(r, mmu::kRGuarded)) text[3] = 'G';
  return text;
}

std::string SegmentName(mmu::SegmentSize segment) {
  return segment == mmu::SegmentSize::k1T ? "1T" : "256M";
}

}  // namespace

HpteView ViewHpte(uint64_t ptex, const mmu::Hpte& hpte, const mmu::PageSizeTable& page_sizes) {
  HpteView view;
  view.ptex = ptex;
  view.hpte = hpte;
  view.valid = Has(hpte.v, mmu::kVValid);
  view.sizes = page_sizes.Decode(hpte.v, hpte.r);
  const mmu::PageSizes sizes = view.sizes.value_or(mmu::PageSizes{});
  view.address = mmu::RecoverVirtualAddress(hpte, ptex, sizes.base);
  view.vpn = mmu::Vpn(view.address);
  view.real_address = hpte.r & mmu::kRRpn & ~((uint64_t{1} << sizes.actual) - 1);
  return view;
}

std::string PageSizeName(int shift) {
  static constexpr char kUnits[] = {'B', 'K', 'M', 'G', 'T'};
  return absl::StrCat(uint64_t{1} << (shift % 10),
                      std::string(1, kUnits[static_cast<size_t>(shift / 10)]));
}

std::string HpteHeading() {
  return absl::StrFormat("%10s  %-16s %-16s  %-15s %-5s %-10s %-9s %-13s %2s %3s %s %s%s %s %s",
                         "ptex", "V", "R", "VPN", "seg", "VSID", "page", "real", "pp", "key", "N",
                         "R", "C", "WIMG", "flags");
}

std::string HpteLine(const HpteView& view) {
  const auto [v, r] = view.hpte;
  std::string sizes = "?";
  if (!view.valid) {
    sizes = "-";
  } else if (view.sizes.has_value()) {
    sizes = PageSizeName(view.sizes->base);
    if (view.sizes->actual != view.sizes->base) {
      absl::StrAppend(&sizes, "/", PageSizeName(view.sizes->actual));
    }
  }
  std::string flags = view.valid ? "" : " not-valid";
  if (Has(v, mmu::kVBolted)) absl::StrAppend(&flags, " bolted");
  if (Has(v, mmu::kVSecondary)) absl::StrAppend(&flags, " secondary");
  if (flags.empty()) flags = " -";
  // What is not valid maps no page.
  const auto hex = [&view](uint64_t value) {
    return view.valid ? absl::StrFormat("%x", value) : std::string("-");
  };
  return absl::StrFormat(
      "%10x  %016x %016x  %-15s %-5s %-10s %-9s %-13s %2d %3d %s %s%s %s%s", view.ptex, v, r,
      hex(view.vpn), view.valid ? SegmentName(view.address.segment) : "-", hex(view.address.vsid),
      sizes, hex(view.real_address), mmu::PageProtection(r), mmu::StorageKey(r),
      Has(r, mmu::kRNoExecute) ? "N" : "-", Has(r, mmu::kRReferenced) ? "R" : "-",
      Has(r, mmu::kRChanged) ? "C" : "-", WimgText(r), flags);
}

namespace {

// What the entry maps; null throughout if it is not valid.
void AddPage(const HpteView& view, nlohmann::ordered_json* json) {
  const auto put = [&view, json](const char* key, bool known, const std::string& value) {
    (*json)[key] = view.valid && known ? nlohmann::ordered_json(value) : nullptr;
  };
  const mmu::PageSizes sizes = view.sizes.value_or(mmu::PageSizes{});
  put("vpn", true, Hex(view.vpn));
  put("segment", true, SegmentName(view.address.segment));
  put("vsid", true, Hex(view.address.vsid));
  put("offset", true, Hex(view.address.offset));
  put("base_page", view.sizes.has_value(), PageSizeName(sizes.base));
  put("actual_page", view.sizes.has_value(), PageSizeName(sizes.actual));
  put("real_address", true, Hex(view.real_address));
}

}  // namespace

nlohmann::ordered_json HpteJson(const HpteView& view) {
  const auto [v, r] = view.hpte;
  nlohmann::ordered_json json;
  json["ptex"] = view.ptex;
  json["v"] = Hex(v);
  json["r"] = Hex(r);
  json["valid"] = view.valid;
  AddPage(view, &json);
  json["pp"] = mmu::PageProtection(r);
  json["key"] = mmu::StorageKey(r);
  json["no_execute"] = Has(r, mmu::kRNoExecute);
  json["referenced"] = Has(r, mmu::kRReferenced);
  json["changed"] = Has(r, mmu::kRChanged);
  json["wimg"] = WimgText(r);
  json["bolted"] = Has(v, mmu::kVBolted);
  json["secondary"] = Has(v, mmu::kVSecondary);
  return json;
}

}  // namespace papr::client::hptctl

// An HPTE in words: its page, where it points, its protection and state, as text and as JSON.

#ifndef CLIENT_HPTCTL_HPTE_VIEW_H_
#define CLIENT_HPTCTL_HPTE_VIEW_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "mmu/hpte.h"
#include "mmu/page_size.h"
#include "mmu/virtual_address.h"

namespace papr::client::hptctl {

// The fields of one entry, decoded.
struct HpteView {
  uint64_t ptex = 0;
  mmu::Hpte hpte;
  bool valid = false;
  std::optional<mmu::PageSizes> sizes;  // nothing: L is set and LP is no encoding of the partition
  mmu::VirtualAddress address;          // of the base page; meaningful if `sizes` is known
  uint64_t vpn = 0;                     // in units of 4K
  uint64_t real_address = 0;            // of the page, bytes
};

HpteView ViewHpte(uint64_t ptex, const mmu::Hpte& hpte, const mmu::PageSizeTable& page_sizes);

// "4K", "64K", "16M".
std::string PageSizeName(int shift);

// Heads the columns of HpteLine().
std::string HpteHeading();
std::string HpteLine(const HpteView& view);

// "ptex" is a number; words and addresses are strings "0x...", which hold 64 bits in any reader.
// What concerns the page is null in an entry that is not valid.
nlohmann::ordered_json HpteJson(const HpteView& view);

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_HPTE_VIEW_H_

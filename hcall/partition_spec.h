// A partition as one line of text, for command lines and files:
//
//   name=lpar1,order=24,ram=0:1G,ram=4G:512M,io=0x10000000000:64K,profile=kvm-hv,processor=power9
//
// Keys: name, order, profile (kvm-hv, qemu-tcg), processor (power7, power8, power9), mmu (hash,
// radix), ram and io (BASE:SIZE, repeatable; numbers decimal or 0x, suffix K M G T; default
// ram=0:1G), page-sizes (power, qemu, or BASE/SLB/ACTUAL:LP[/ACTUAL:LP...] joined by ';', page
// sizes as 4K 64K 16M 16G, other numbers hex), page-match (lp, whole), features (names joined by
// '+'; replaces the profile's default) and no-FEATURE, block-remove (BASE/ACTUAL joined by '+'),
// max-order, resize (background, manual, denied), strict-flags (true, false), hash-opcode-base,
// track-guest-pages (true, false).

#ifndef HCALL_PARTITION_SPEC_H_
#define HCALL_PARTITION_SPEC_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hcall/partition_config.h"

namespace papr::hcall {

struct PartitionSpec {
  std::string name;  // empty if the text named none
  PartitionConfig config;
};

// INVALID_ARGUMENT, naming the key and what is wrong with its value; the configuration has passed
// Validate().
absl::StatusOr<PartitionSpec> ParsePartitionSpec(std::string_view text);

// Bytes: "512M" is 536870912, "0x1000" 4096.
absl::StatusOr<uint64_t> ParseBytes(std::string_view text);

}  // namespace papr::hcall

#endif  // HCALL_PARTITION_SPEC_H_

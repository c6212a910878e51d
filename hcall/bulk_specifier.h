// The translation specifier of H_BULK_REMOVE and H_HASH_BULK_REMOVE: TSH in and out (LoPAR
// "H_BULK_REMOVE"). The control byte is the first byte of TSH; the ptex, or the hash, is the rest.

#ifndef HCALL_BULK_SPECIFIER_H_
#define HCALL_BULK_SPECIFIER_H_

#include <cstdint>

#include "mmu/hpte.h"

namespace papr::hcall {

inline constexpr int kBulkSpecifiers = 4;

enum class BulkType : uint8_t { kUnused = 0, kRequest = 1, kResponse = 2, kEnd = 3 };
enum class BulkTest : uint8_t { kAbsolute = 0, kAndCond = 1, kAvpn = 2, kInvalid = 3 };
enum class BulkCode : uint8_t { kSuccess = 0, kNotFound = 1, kParameter = 2 };

inline constexpr uint64_t kBulkTargetMask = 0x00ffffffffffffff;
inline constexpr uint64_t kBulkTestMask = 0x0300000000000000;

constexpr BulkType TypeOf(uint64_t tsh) { return static_cast<BulkType>(tsh >> 62); }
constexpr BulkTest TestOf(uint64_t tsh) { return static_cast<BulkTest>((tsh >> 56) & 3); }
constexpr uint64_t TargetOf(uint64_t tsh) { return tsh & kBulkTargetMask; }

// TSH of a request, and of the end mark.
constexpr uint64_t BulkRequest(BulkTest test, uint64_t target) {
  return (static_cast<uint64_t>(BulkType::kRequest) << 62) | (static_cast<uint64_t>(test) << 56) |
         (target & kBulkTargetMask);
}
inline constexpr uint64_t kBulkEnd = static_cast<uint64_t>(BulkType::kEnd) << 62;

// Response to `tsh`: its test and target, and a code.
constexpr uint64_t Respond(uint64_t tsh, BulkCode code) {
  return (static_cast<uint64_t>(BulkType::kResponse) << 62) | (static_cast<uint64_t>(code) << 60) |
         (tsh & (kBulkTestMask | kBulkTargetMask));
}

// Where R and C of the removed entry go: control bits 4 and 5.
constexpr uint64_t BulkReferenceChange(uint64_t r) {
  return (r & (mmu::kRReferenced | mmu::kRChanged)) << 51;
}
// Where QEMU puts them by mistake: into the ptex field.
constexpr uint64_t BulkReferenceChangeOfQemu(uint64_t r) {
  return (r & (mmu::kRReferenced | mmu::kRChanged)) << 43;
}

}  // namespace papr::hcall

#endif  // HCALL_BULK_SPECIFIER_H_

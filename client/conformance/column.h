// Whose answers a script tells. Three profiles say what is right; two implementations say what is
// so where it departs from their profile.

#ifndef CLIENT_CONFORMANCE_COLUMN_H_
#define CLIENT_CONFORMANCE_COLUMN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace papr::conformance {

enum class Column : uint8_t {
  kPapr,     // profile: the letter of the standard
  kKvmHv,    // profile: what a guest of Linux KVM-HV may rely on
  kQemuTcg,  // profile: QEMU 7.2 without KVM, where that is legal
  kKvm,      // implementation of kvm-hv: Linux 6.1
  kQemu,     // implementation of qemu-tcg: QEMU 7.2
};

inline constexpr std::array<Column, 5> kColumns = {Column::kPapr, Column::kKvmHv, Column::kQemuTcg,
                                                   Column::kKvm, Column::kQemu};

std::string_view ColumnName(Column column);  // "papr", "kvm-hv", "qemu-tcg", "kvm", "qemu"
std::optional<Column> ColumnByName(std::string_view name);

// The profile that an implementation follows; a profile is its own.
constexpr Column ProfileOf(Column column) {
  if (column == Column::kKvm) return Column::kKvmHv;
  if (column == Column::kQemu) return Column::kQemuTcg;
  return column;
}
constexpr bool IsProfile(Column column) { return ProfileOf(column) == column; }

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_COLUMN_H_

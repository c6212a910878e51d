#include "client/conformance/column.h"

namespace papr::conformance {

std::string_view ColumnName(Column column) {
  switch (column) {
    case Column::kPapr:
      return "papr";
    case Column::kKvmHv:
      return "kvm-hv";
    case Column::kQemuTcg:
      return "qemu-tcg";
    case Column::kKvm:
      return "kvm";
    case Column::kQemu:
      return "qemu";
  }
  return "";
}

std::optional<Column> ColumnByName(std::string_view name) {
  for (const Column column : kColumns) {
    if (ColumnName(column) == name) return column;
  }
  return std::nullopt;
}

}  // namespace papr::conformance

// HeaderByteOrder of the wire as std::endian.

#ifndef SERVER_HEADER_BYTE_ORDER_H_
#define SERVER_HEADER_BYTE_ORDER_H_

#include <bit>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "papr/mmu/v1/partition.pb.h"
#include "server/errors.h"

namespace papr::server {

// INVALID_ARGUMENT, open.header_order: a value that is not known. Any thread may call it.
inline absl::StatusOr<std::endian> HeaderOrder(mmu::v1::HeaderByteOrder order) {
  switch (order) {
    case mmu::v1::HEADER_BYTE_ORDER_UNSPECIFIED:
    case mmu::v1::HEADER_BYTE_ORDER_LITTLE_ENDIAN:
      return std::endian::little;
    case mmu::v1::HEADER_BYTE_ORDER_BIG_ENDIAN:
      return std::endian::big;
    default:
      return FieldError("open.header_order",
                        absl::StrCat(static_cast<int>(order), " is no byte order"));
  }
}

}  // namespace papr::server

#endif  // SERVER_HEADER_BYTE_ORDER_H_

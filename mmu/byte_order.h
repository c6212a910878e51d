// Integers as bytes in a given order. Pure functions; any thread may use them.

#ifndef MMU_BYTE_ORDER_H_
#define MMU_BYTE_ORDER_H_

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstring>

namespace papr::mmu {

// Writes the sizeof(Integer) bytes of `value` to `out`.
template <std::unsigned_integral Integer>
void StoreInteger(Integer value, std::endian order, char* out) {
  auto bytes = std::bit_cast<std::array<char, sizeof(Integer)>>(value);
  if (order != std::endian::native) std::reverse(bytes.begin(), bytes.end());
  std::memcpy(out, bytes.data(), bytes.size());
}

// Reads as many.
template <std::unsigned_integral Integer>
Integer LoadInteger(const char* in, std::endian order) {
  std::array<char, sizeof(Integer)> bytes;
  std::memcpy(bytes.data(), in, bytes.size());
  if (order != std::endian::native) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Integer>(bytes);
}

}  // namespace papr::mmu

#endif  // MMU_BYTE_ORDER_H_

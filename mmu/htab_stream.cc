#include "mmu/htab_stream.h"

#include "mmu/byte_order.h"

namespace papr::mmu {

void EncodeHtabHeader(const HtabHeader& header, std::endian order, char* out) {
  StoreInteger(header.index, order, out);
  StoreInteger(header.n_valid, order, out + 4);
  StoreInteger(header.n_invalid, order, out + 6);
}

void EncodeHtabEntry(const Hpte& hpte, char* out) {
  StoreInteger(hpte.v, std::endian::big, out);
  StoreInteger(hpte.r, std::endian::big, out + 8);
}

HtabHeader DecodeHtabHeader(const char* bytes, std::endian order) {
  return {LoadInteger<uint32_t>(bytes, order), LoadInteger<uint16_t>(bytes + 4, order),
          LoadInteger<uint16_t>(bytes + 6, order)};
}

Hpte DecodeHtabEntry(const char* bytes) {
  return {LoadInteger<uint64_t>(bytes, std::endian::big),
          LoadInteger<uint64_t>(bytes + 8, std::endian::big)};
}

std::optional<HtabRecord> ParseHtabRecord(std::string_view bytes, std::endian order) {
  if (bytes.size() < kHtabHeaderBytes) return std::nullopt;
  HtabRecord record;
  record.header = DecodeHtabHeader(bytes.data(), order);
  const size_t entry_bytes = record.header.n_valid * kHtabEntryBytes;
  if (bytes.size() - kHtabHeaderBytes < entry_bytes) return std::nullopt;
  record.entries = bytes.substr(kHtabHeaderBytes, entry_bytes);
  return record;
}

void HtabStreamParser::Append(std::string_view bytes) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  buffer_.append(bytes);
}

std::optional<HtabRecord> HtabStreamParser::Next() {
  auto record = ParseHtabRecord(std::string_view(buffer_).substr(taken_), order_);
  if (record.has_value()) taken_ += record->bytes();
  return record;
}

}  // namespace papr::mmu

// The stream in which a hashed page table travels: the record format of Linux's
// KVM_PPC_GET_HTAB_FD, which QEMU's migration uses too. A record is a header (index of its first
// entry, how many valid entries follow, how many entries behind those are not valid) and the valid
// entries, V and R big-endian. The header's byte order is that of the host that wrote it; records
// stand one behind the other without padding.
//
// Functions are pure; a HtabStreamParser is for one thread.

#ifndef MMU_HTAB_STREAM_H_
#define MMU_HTAB_STREAM_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mmu/hpte.h"

namespace papr::mmu {

inline constexpr size_t kHtabHeaderBytes = 8;
inline constexpr size_t kHtabEntryBytes = 16;
// Entries of one kind in a record.
inline constexpr uint32_t kHtabMaxRun = 0xffff;
// The header's index has 32 bits.
inline constexpr int kHtabMaxOrder = 36;

struct HtabHeader {
  uint32_t index = 0;      // ptex of the first entry
  uint16_t n_valid = 0;    // entries that follow
  uint16_t n_invalid = 0;  // entries after those, none of them valid; they take no bytes

  friend bool operator==(const HtabHeader&, const HtabHeader&) = default;
};

// Write kHtabHeaderBytes and kHtabEntryBytes to `out`.
void EncodeHtabHeader(const HtabHeader& header, std::endian order, char* out);
void EncodeHtabEntry(const Hpte& hpte, char* out);
// Read as many.
HtabHeader DecodeHtabHeader(const char* bytes, std::endian order);
Hpte DecodeHtabEntry(const char* bytes);

// One record of a stream; `entries` points into the bytes that it was parsed from.
struct HtabRecord {
  HtabHeader header;
  std::string_view entries;  // header.n_valid * kHtabEntryBytes

  size_t bytes() const { return kHtabHeaderBytes + entries.size(); }
  // Entry `i` of the valid ones, 0 to n_valid - 1.
  Hpte entry(size_t i) const { return DecodeHtabEntry(entries.data() + i * kHtabEntryBytes); }
};

// The record at the beginning of `bytes`, or nothing if it is not there as a whole.
std::optional<HtabRecord> ParseHtabRecord(std::string_view bytes, std::endian order);

// Cuts a stream that comes in pieces into its records.
class HtabStreamParser {
 public:
  explicit HtabStreamParser(std::endian order) : order_(order) {}

  // Adds the next piece; records taken before are no longer good.
  void Append(std::string_view bytes);
  // The next record, good until Append(); nothing if it has not come as a whole.
  std::optional<HtabRecord> Next();
  // Bytes of the record that has not come as a whole, after Next() returned nothing.
  size_t pending_bytes() const { return buffer_.size() - taken_; }

 private:
  const std::endian order_;
  std::string buffer_;
  size_t taken_ = 0;  // bytes of `buffer_` that are records given
};

}  // namespace papr::mmu

#endif  // MMU_HTAB_STREAM_H_

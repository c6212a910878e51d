// The migration section "spapr/htab", version 1, in which QEMU's pseries machine sends its hashed
// page table: a START section with the table's order, PART sections and an END section with the
// records of mmu/htab_stream.h, all integers big-endian. Sections may be followed by footers (newer
// machine types) and preceded by the header of a whole migration file; of other sections nothing is
// known here.
//
// For one thread.

#ifndef MMU_QEMU_HTAB_SECTION_H_
#define MMU_QEMU_HTAB_SECTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mmu/htab_stream.h"

namespace papr::mmu {

// What came before is void: there is a fresh, empty table of this order now, or none at all (a
// guest with a radix tree).
struct QemuHtabTable {
  std::optional<int> order;
};
// The END section is over.
struct QemuHtabEnd {};
// A record's entries are to be stored as they are; those not valid to be emptied.
using QemuHtabEvent = std::variant<QemuHtabTable, HtabRecord, QemuHtabEnd>;

class QemuHtabReader {
 public:
  // Adds the next piece of the stream; records given before are no longer good.
  void Append(std::string_view bytes);
  // What the stream says next, good until Append(); nothing if that has not come as a whole.
  // INVALID_ARGUMENT, the byte named, if the stream is not of this form; it stays so.
  absl::StatusOr<std::optional<QemuHtabEvent>> Next();
  // To be asked at the end of the stream: DATA_LOSS unless it ended behind an END section.
  absl::Status Finish() const;

 private:
  enum class State { kFile, kSection, kTable, kRecords };
  enum class Kind : uint8_t { kStart = 1, kPart = 2, kEnd = 3 };

  std::string_view left() const { return std::string_view(buffer_).substr(taken_); }
  void Take(size_t bytes) { taken_ += bytes; }
  absl::Status Refuse(std::string_view what) const;
  // Each takes one thing from the stream and says whether it was there as a whole.
  absl::StatusOr<bool> TakeFileHeader();
  absl::StatusOr<bool> TakeSectionHeader();
  absl::StatusOr<bool> TakeFooter();
  absl::StatusOr<bool> TakeStart();
  absl::StatusOr<std::optional<QemuHtabEvent>> TakeTable();
  std::optional<QemuHtabEvent> TakeRecord(bool* end_of_section);
  void EndSection();

  std::string buffer_;
  size_t taken_ = 0;      // of `buffer_`
  uint64_t dropped_ = 0;  // bytes before `buffer_`
  State state_ = State::kFile;
  Kind kind_ = Kind::kStart;
  bool footer_may_come_ = false;
  bool started_ = false;
  bool ended_ = false;
  uint32_t section_id_ = 0;
};

// Makes such a stream; each function adds to `out`.
class QemuHtabWriter {
 public:
  struct Options {
    uint32_t section_id = 1;
    bool footers = true;       // as machine types since 2.4 send them
    bool file_header = false;  // before the START section
  };
  explicit QemuHtabWriter(const Options& options) : options_(options) {}

  // The START section: a table of `order`, or none.
  void Start(std::optional<int> order, std::string* out) const;
  // Opens a PART or the END section; records, then FinishSection(), must follow.
  void BeginPart(std::string* out) const { Begin(2, 0, out); }
  void BeginEnd(std::string* out) const { Begin(3, 0, out); }
  // A record whose valid entries are `entries`, as in a HtabRecord. Not one of no entry at all.
  void Record(const HtabHeader& header, std::string_view entries, std::string* out) const;
  void FinishSection(std::string* out) const;
  // The END section of a guest without a table.
  void EndWithoutTable(std::string* out) const;

 private:
  void Begin(uint8_t kind, uint32_t table, std::string* out) const;
  void Footer(std::string* out) const;

  const Options options_;
};

}  // namespace papr::mmu

#endif  // MMU_QEMU_HTAB_SECTION_H_

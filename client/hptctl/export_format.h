// The forms in which hptctl writes what an export gives: KVM's stream as it comes, or QEMU's
// migration section around it.
//
// For one thread.

#ifndef CLIENT_HPTCTL_EXPORT_FORMAT_H_
#define CLIENT_HPTCTL_EXPORT_FORMAT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mmu/htab_stream.h"
#include "mmu/qemu_htab_section.h"

namespace papr::client::hptctl {

class ExportFormat {
 public:
  virtual ~ExportFormat() = default;

  // Each adds what is to be written to `out`, in this order: once a table, for each pass its
  // beginning, its records and its end, once the end.
  virtual void Begin(std::string* out) = 0;
  virtual void BeginPass(bool first, bool last, std::string* out) = 0;
  virtual void Record(const mmu::HtabRecord& record, std::string* out) = 0;
  virtual void EndPass(std::string* out) = 0;
  virtual void End(std::string* out) = 0;
};

// KVM's: the records and nothing else, with headers in `order`.
std::unique_ptr<ExportFormat> MakeKvmFormat(std::endian order);

// QEMU's. `order`: of the table; nothing for a guest without one. A pass is a PART section, the
// last the END section, unless it is the first too. `all_records`: also the invalid entries of the
// first pass, as QEMU sends them when KVM has the table; otherwise, as when it has the table
// itself, only the valid ones, the rest being empty in a fresh table.
std::unique_ptr<ExportFormat> MakeQemuFormat(const mmu::QemuHtabWriter::Options& options,
                                             std::optional<int> order, bool all_records);

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_EXPORT_FORMAT_H_

// Prints the entries of a table as they come: lines of text, or one JSON document.
//
// A JSON document appears on standard output when it is complete and not before, so that a dump
// that fails half-way leaves none. Until then it is in an unnamed temporary file: a table may be
// larger than memory.

#ifndef CLIENT_HPTCTL_ENTRY_PRINTER_H_
#define CLIENT_HPTCTL_ENTRY_PRINTER_H_

#include <cstdint>
#include <cstdio>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/hptctl/attached_partition.h"
#include "client/hptctl/context.h"
#include "mmu/hpte.h"

namespace papr::client::hptctl {

class EntryPrinter {
 public:
  // `partition` must outlive this. FAILED_PRECONDITION: there is no place for a temporary file.
  static absl::StatusOr<EntryPrinter> Open(const Context& context,
                                           const AttachedPartition& partition);

  void Print(uint64_t ptex, const mmu::Hpte& hpte);
  // False once something could not be written: what follows would be lost too.
  bool ok() const { return std::ferror(out()) == 0; }
  // Completes the text or the document. DATA_LOSS: the temporary file did not hold it.
  absl::Status Finish();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  EntryPrinter(const AttachedPartition& partition, std::FILE* document)
      : page_sizes_(&partition.page_sizes), document_(document) {}
  std::FILE* out() const { return document_ != nullptr ? document_.get() : stdout; }

  const mmu::PageSizeTable* page_sizes_;
  std::unique_ptr<std::FILE, CloseFile> document_;  // null: text
  uint64_t count_ = 0;
};

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_ENTRY_PRINTER_H_

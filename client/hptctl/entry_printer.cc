#include "client/hptctl/entry_printer.h"

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/hptctl/hpte_view.h"

namespace papr::client::hptctl {

absl::StatusOr<EntryPrinter> EntryPrinter::Open(const Context& context,
                                                const AttachedPartition& partition) {
  if (!context.json) {
    absl::PrintF("%s\n", HpteHeading());
    return EntryPrinter(partition, nullptr);
  }
  std::FILE* document = std::tmpfile();
  if (document == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make a temporary file for the document: ", std::strerror(errno)));
  }
  const nlohmann::ordered_json name = partition.name;
  absl::FPrintF(document, "{\n\"partition\": %s,\n\"order\": %d,\n\"entries\": [", name.dump(),
                partition.order);
  return EntryPrinter(partition, document);
}

void EntryPrinter::Print(uint64_t ptex, const mmu::Hpte& hpte) {
  const HpteView view = ViewHpte(ptex, hpte, *page_sizes_);
  if (document_ != nullptr) {
    absl::FPrintF(out(), "%s\n%s", count_ == 0 ? "" : ",", HpteJson(view).dump());
  } else {
    absl::FPrintF(out(), "%s\n", HpteLine(view));
  }
  ++count_;
}

absl::Status EntryPrinter::Finish() {
  if (document_ == nullptr) {
    absl::PrintF("%d entries\n", count_);
    return absl::OkStatus();
  }
  std::FILE* const document = document_.get();
  absl::FPrintF(document, "\n]\n}\n");
  if (std::fflush(document) != 0 || std::ferror(document) != 0) {
    return absl::DataLossError("the temporary file does not hold the document: is the disk full?");
  }
  std::rewind(document);
  std::array<char, 1 << 16> buffer;
  for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), document)) > 0;) {
    if (std::fwrite(buffer.data(), 1, n, stdout) != n) break;
  }
  if (std::ferror(document) != 0) return absl::DataLossError("cannot read the temporary file");
  return absl::OkStatus();
}

}  // namespace papr::client::hptctl

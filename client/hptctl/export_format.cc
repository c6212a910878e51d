#include "client/hptctl/export_format.h"

#include <bit>

namespace papr::client::hptctl {
namespace {

class KvmFormat final : public ExportFormat {
 public:
  explicit KvmFormat(std::endian order) : order_(order) {}

  void Begin(std::string*) override {}
  void BeginPass(bool, bool, std::string*) override {}
  void Record(const mmu::HtabRecord& record, std::string* out) override {
    out->resize(out->size() + mmu::kHtabHeaderBytes);
    mmu::EncodeHtabHeader(record.header, order_, out->data() + out->size() - mmu::kHtabHeaderBytes);
    out->append(record.entries);
  }
  void EndPass(std::string*) override {}
  void End(std::string*) override {}

 private:
  const std::endian order_;
};

class QemuFormat final : public ExportFormat {
 public:
  QemuFormat(const mmu::QemuHtabWriter::Options& options, std::optional<int> order,
             bool all_records)
      : writer_(options), order_(order), all_records_(all_records) {}

  void Begin(std::string* out) override { writer_.Start(order_, out); }

  void BeginPass(bool first, bool last, std::string* out) override {
    if (!order_.has_value()) return;
    first_ = first;
    ended_ = last && !first;
    ended_ ? writer_.BeginEnd(out) : writer_.BeginPart(out);
  }

  void Record(const mmu::HtabRecord& record, std::string* out) override {
    mmu::HtabHeader header = record.header;
    if (first_ && !all_records_) header.n_invalid = 0;
    if (header.n_valid != 0 || header.n_invalid != 0) {
      writer_.Record(header, record.entries, out);
    }
  }

  void EndPass(std::string* out) override {
    if (order_.has_value()) writer_.FinishSection(out);
  }

  void End(std::string* out) override {
    if (!order_.has_value()) return writer_.EndWithoutTable(out);
    if (ended_) return;
    writer_.BeginEnd(out);
    writer_.FinishSection(out);
  }

 private:
  const mmu::QemuHtabWriter writer_;
  const std::optional<int> order_;
  const bool all_records_;
  bool first_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ExportFormat> MakeKvmFormat(std::endian order) {
  return std::make_unique<KvmFormat>(order);
}

std::unique_ptr<ExportFormat> MakeQemuFormat(const mmu::QemuHtabWriter::Options& options,
                                             std::optional<int> order, bool all_records) {
  return std::make_unique<QemuFormat>(options, order, all_records);
}

}  // namespace papr::client::hptctl

// Short forms for tests of exports and imports.

#ifndef TESTS_UNIT_HCALL_HTAB_TEST_UTIL_H_
#define TESTS_UNIT_HCALL_HTAB_TEST_UTIL_H_

#include <map>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "hcall/htab_export.h"
#include "hcall/htab_import.h"
#include "tests/unit/hcall/test_partition.h"

namespace papr::hcall {

inline std::unique_ptr<HtabExport> OpenExport(Partition& partition,
                                              const HtabExport::Options& options = {}) {
  auto opened = HtabExport::Open(partition, options);
  EXPECT_TRUE(opened.ok()) << opened.status();
  return opened.ok() ? *std::move(opened) : nullptr;
}

// The bytes of one read of at most `count`.
inline std::string ReadOnce(HtabExport& from, size_t count) {
  std::string buffer(count, '\xee');
  const auto result = from.Read({buffer.data(), buffer.size()});
  EXPECT_TRUE(result.ok()) << result.status();
  buffer.resize(result.ok() ? result->bytes : 0);
  return buffer;
}

// The bytes of the reads up to the end of the table.
inline std::string ReadPass(HtabExport& from, size_t count = 4096) {
  std::string all;
  for (;;) {
    std::string buffer(count, '\xee');
    const auto result = from.Read({buffer.data(), buffer.size()});
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return all;
    all.append(buffer, 0, result->bytes);
    if (result->end_of_table) return all;
  }
}

inline std::string ReadOnceHex(HtabExport& from, size_t count) {
  return absl::BytesToHexString(ReadOnce(from, count));
}

inline std::string ReadPassHex(HtabExport& from, size_t count = 4096) {
  return absl::BytesToHexString(ReadPass(from, count));
}

// Every entry that is not the empty one.
inline std::map<uint64_t, std::pair<uint64_t, uint64_t>> TableOf(Partition& partition) {
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> entries;
  const Quiescence::Exclusive guard(partition.quiescence());
  mmu::HashPageTable& table = partition.table();
  table.ForEachTouchedRun([&](uint64_t first, uint64_t count) {
    for (uint64_t ptex = first; ptex < first + count && table.Contains(ptex); ++ptex) {
      const mmu::Hpte hpte = table.Read(ptex);
      if (hpte != table.empty_entry()) entries[ptex] = {hpte.v, hpte.r};
    }
  });
  return entries;
}

inline int64_t EnterExact(Partition& partition, uint64_t ptex, const mmu::Hpte& hpte) {
  return Call(partition, kHEnter, {kFlagExact, ptex, hpte.v, hpte.r}).return_code;
}

// A table walk.
inline void Walk(Partition& partition, uint64_t ptex, bool referenced, bool changed) {
  const ReferenceChange update = {ptex, referenced, changed};
  size_t applied = 0;
  EXPECT_TRUE(partition.SetReferenceChange({&update, 1}, &applied).ok());
}

}  // namespace papr::hcall

#endif  // TESTS_UNIT_HCALL_HTAB_TEST_UTIL_H_

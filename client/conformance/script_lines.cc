#include "client/conformance/script_lines.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace papr::conformance {
namespace {

using Words = std::vector<std::string>;
using Columns = std::set<Column>;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// A profile and the implementation of it.
void AddWithImplementation(Column column, Columns* columns) {
  for (const Column each : kColumns) {
    if (each == column || ProfileOf(each) == column) columns->insert(each);
  }
}

struct Prefix {
  Columns named;
  Columns columns;  // with the implementations of those named
};

// Of "kvm-hv,papr:"; nothing if `word` is no prefix.
std::optional<Prefix> ParsePrefix(const std::string& word) {
  if (!word.ends_with(':')) return std::nullopt;
  Prefix prefix;
  for (absl::string_view name :
       absl::StrSplit(absl::string_view(word).substr(0, word.size() - 1), ',')) {
    const std::optional<Column> column = ColumnByName({name.data(), name.size()});
    if (!column) return std::nullopt;
    prefix.named.insert(*column);
    AddWithImplementation(*column, &prefix.columns);
  }
  return prefix;
}

bool MayBePrefixed(const std::string& verb) {
  static const std::set<std::string> kForAll = {"case",     "for",     "end",
                                                "profiles", "without", "defect"};
  return !kForAll.contains(verb);
}

class Splitter {
 public:
  explicit Splitter(Column column) : column_(column) {}

  absl::StatusOr<std::vector<ScriptLine>> Split(std::string_view text) {
    for (absl::string_view raw : absl::StrSplit(View(text), '\n')) {
      ++number_;
      if (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
      if (raw.find('\r') != absl::string_view::npos) {
        return ErrorInLine(number_, "a carriage return inside the line");
      }
      Words words =
          absl::StrSplit(raw.substr(0, raw.find('#')), absl::ByAnyChar(" \t"), absl::SkipEmpty());
      if (words.empty()) continue;
      if (absl::Status status = Take(std::move(words)); !status.ok()) return status;
    }
    return std::move(lines_);
  }

 private:
  absl::Status Take(Words words) {
    std::optional<Prefix> prefix = ParsePrefix(words[0]);
    if (prefix) {
      if (words.size() == 1) return ErrorInLine(number_, "nothing stands after the columns");
      words.erase(words.begin());
      if (!MayBePrefixed(words[0])) {
        return ErrorInLine(number_, absl::StrCat("'", words[0], "' is for all columns"));
      }
    }
    const bool result = words[0] == "->";
    if (result && prefix &&
        !std::includes(of_call_.begin(), of_call_.end(), prefix->columns.begin(),
                       prefix->columns.end())) {
      return ErrorInLine(number_, "a result in a column that does not have the call before it");
    }
    const Columns& columns = prefix ? prefix->columns : result ? of_call_ : all_;
    if (!result) of_call_ = columns;
    if (!columns.contains(column_)) return absl::OkStatus();
    const bool own = prefix && !prefix->named.contains(ProfileOf(column_));
    if (own && words[0] == "expect") {
      return ErrorInLine(number_,
                         "an 'expect' of an implementation only: use an H_READ with results");
    }
    lines_.push_back({number_, std::move(words), own});
    return absl::OkStatus();
  }

  const Columns all_ = {kColumns.begin(), kColumns.end()};
  const Column column_;
  int number_ = 0;
  Columns of_call_ = all_;  // columns of the last line that is no result
  std::vector<ScriptLine> lines_;
};

}  // namespace

absl::Status ErrorInLine(int line, std::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", View(message)));
}

absl::StatusOr<std::vector<ScriptLine>> LinesOf(std::string_view text, Column column) {
  return Splitter(column).Split(text);
}

}  // namespace papr::conformance

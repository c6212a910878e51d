// The lines of a script that concern one column.

#ifndef CLIENT_CONFORMANCE_SCRIPT_LINES_H_
#define CLIENT_CONFORMANCE_SCRIPT_LINES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/conformance/column.h"

namespace papr::conformance {

struct ScriptLine {
  int number = 0;                  // from 1
  std::vector<std::string> words;  // without comment and prefix; at least one
  bool own = false;  // meant for the column itself, an implementation, not its profile
};

// "line 7: " and what `status` says.
absl::Status ErrorInLine(int line, std::string_view message);

// The lines of `text` that exist in `column`. A result exists where the call that it follows does.
// INVALID_ARGUMENT: a line, by number, whose prefix makes no sense, or a carriage return inside a
// line.
absl::StatusOr<std::vector<ScriptLine>> LinesOf(std::string_view text, Column column);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_SCRIPT_LINES_H_

// How many of something a request asks for at most.

#ifndef SERVER_BOUNDED_COUNT_H_
#define SERVER_BOUNDED_COUNT_H_

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/errors.h"

namespace papr::server {

// `asked`, or `usual` if that is 0, and no more than `most`. INVALID_ARGUMENT, with the field: it
// is negative.
inline absl::StatusOr<int> BoundedCount(absl::string_view field, int asked, int usual, int most) {
  if (asked < 0) return FieldError(field, absl::StrCat(asked, " is negative"));
  return asked == 0 ? usual : std::min(asked, most);
}

}  // namespace papr::server

#endif  // SERVER_BOUNDED_COUNT_H_

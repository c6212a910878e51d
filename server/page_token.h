// The page tokens of ListPartitions: where the page before ended. A token is opaque to clients and
// stays good whatever partitions come and go meanwhile. Any thread may use these.

#ifndef SERVER_PAGE_TOKEN_H_
#define SERVER_PAGE_TOKEN_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace papr::server {

// The token of a page whose last partition was `name`.
std::string PageTokenAfter(absl::string_view name);

// The name that a token was made of. INVALID_ARGUMENT ("page_token"): it is none of ours.
absl::StatusOr<std::string> NameOfPageToken(absl::string_view token);

}  // namespace papr::server

#endif  // SERVER_PAGE_TOKEN_H_

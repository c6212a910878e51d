#include "server/page_token.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/errors.h"
#include "server/partition_name.h"

namespace papr::server {
namespace {

constexpr absl::string_view kPrefix = "after:";  // tells a token from other base64

}  // namespace

std::string PageTokenAfter(absl::string_view name) {
  return absl::WebSafeBase64Escape(absl::StrCat(kPrefix, name));
}

absl::StatusOr<std::string> NameOfPageToken(absl::string_view token) {
  std::string text;
  absl::string_view name;
  if (absl::WebSafeBase64Unescape(token, &text)) {
    name = text;
    if (absl::ConsumePrefix(&name, kPrefix) && IsPartitionName(name)) return std::string(name);
  }
  return FieldError("page_token", "is not a next_page_token of ListPartitions");
}

}  // namespace papr::server

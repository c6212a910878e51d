#include "server/config_error.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/errors.h"

namespace papr::server {
namespace {

bool IsPath(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '[' ||
           c == ']';
  });
}

}  // namespace

absl::Status NameConfigField(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  const absl::string_view message = status.message();
  const size_t colon = message.find(": ");
  if (colon == absl::string_view::npos || !IsPath(message.substr(0, colon))) {
    return FieldError("config", message);
  }
  return FieldError(absl::StrCat("config.", message.substr(0, colon)), message.substr(colon + 2));
}

}  // namespace papr::server

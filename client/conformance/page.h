// A page of a script: one line of decoded fields that gives names to the words made of it.
// tests/conformance/vectors/README.md has the grammar.

#ifndef CLIENT_CONFORMANCE_PAGE_H_
#define CLIENT_CONFORMANCE_PAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/conformance/expression.h"

namespace papr::conformance {

// Takes the words of a line `page NAME FIELD...` and adds to `names`: NAME.v and NAME.r (the HPTE,
// valid, in its primary group), NAME.avpn (what H_AVPN compares), NAME.hash (39 bits) and, for each
// order, NAME.primary@ORDER and NAME.secondary@ORDER (first ptex of the group). INVALID_ARGUMENT:
// the field that is wrong or missing.
absl::Status DefinePage(const std::vector<std::string>& words, Names* names);

}  // namespace papr::conformance

#endif  // CLIENT_CONFORMANCE_PAGE_H_

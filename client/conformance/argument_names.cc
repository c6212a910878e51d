#include "client/conformance/argument_names.h"

#include "hcall/abi.h"

namespace papr::conformance {

std::vector<std::string> ArgumentNames(uint64_t opcode) {
  switch (opcode) {
    case hcall::kHEnter:
      return {"flags", "ptex", "v", "r"};
    case hcall::kHRemove:
    case hcall::kHProtect:
      return {"flags", "ptex", "avpn"};
    case hcall::kHRead:
    case hcall::kHClearMod:
    case hcall::kHClearRef:
      return {"flags", "ptex"};
    case hcall::kHBulkRemove:
    case hcall::kHHashBulkRemove:
      return {"tsh1", "tsl1", "tsh2", "tsl2", "tsh3", "tsl3", "tsh4", "tsl4"};
    case hcall::kHBlockRemove:
      return {"ava", "ts0", "ts1", "ts2", "ts3", "ts4", "ts5", "ts6", "ts7"};
    case hcall::kHHashRemove:
      return {"flags", "hash", "avpn", "mask"};
    case hcall::kHHashProtect:
      return {"flags", "hash", "avpn"};
    case hcall::kHResizeHptPrepare:
    case hcall::kHResizeHptCommit:
      return {"flags", "shift"};
    case hcall::kHPageInit:
      return {"flags", "destination", "source"};
    default:
      return {};
  }
}

}  // namespace papr::conformance

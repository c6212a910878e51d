// The outputs of an hcall in words.

#ifndef CLIENT_HPTCTL_HCALL_VIEW_H_
#define CLIENT_HPTCTL_HCALL_VIEW_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/hptctl/attached_partition.h"
#include "hcall/abi.h"

namespace papr::client::hptctl {

// What the registers that came back mean, by the call: HPTEs field by field, the response codes of
// bulk and block removal, the slot of an H_ENTER. One line, and one JSON object, for each thing.
struct HcallView {
  std::vector<std::string> lines;
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
};

HcallView ViewOutputs(const AttachedPartition& partition, const hcall::HcallRequest& request,
                      const hcall::HcallResult& result);

}  // namespace papr::client::hptctl

#endif  // CLIENT_HPTCTL_HCALL_VIEW_H_

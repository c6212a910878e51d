// hptctl partition: create, list, show, reset, delete.

#include <google/protobuf/util/json_util.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/hptctl/commands.h"
#include "client/partition_admin.h"
#include "hcall/partition_spec.h"

namespace papr::client::hptctl {
namespace {

namespace v1 = ::papr::mmu::v1;
using Json = nlohmann::ordered_json;

// A message by the JSON rules of protocol buffers, field names as in the .proto files.
Json ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  return status.ok() ? Json::parse(text) : Json(nullptr);
}

// "kvm-hv" for PROFILE_KVM_HV.
std::string ProfileText(const v1::PartitionConfig& config) {
  return std::string(hcall::ProfileName(config.profile() == v1::PROFILE_QEMU_TCG
                                            ? hcall::Profile::kQemuTcg
                                            : hcall::Profile::kKvmHv));
}

uint64_t RamBytes(const v1::PartitionConfig& config) {
  uint64_t bytes = 0;
  for (const v1::MemoryRegion& region : config.memory()) {
    if (region.kind() == v1::MemoryRegion::KIND_RAM) bytes += region.size();
  }
  return bytes;
}

std::string Line(const v1::Partition& partition) {
  const bool radix = partition.config().mmu() == v1::MMU_KIND_RADIX;
  const std::string table = radix ? "radix" : absl::StrCat("order ", partition.order());
  return absl::StrFormat("%-32s %-9s %-9s %8d MB RAM", partition.name(), table,
                         ProfileText(partition.config()), RamBytes(partition.config()) >> 20);
}

void PrintPartition(const Context& context, const v1::Partition& partition) {
  if (context.json) {
    PrintJson(ToJson(partition));
  } else {
    absl::PrintF("%s\n", Line(partition));
  }
}

struct CreateOptions {
  std::string name;
  std::string spec;
  std::vector<std::string> ram;
  std::vector<std::string> io;
  std::string order;
  std::string profile;
  std::string processor;
  bool track_guest_pages = false;
};

// The options as one specification.
std::string SpecText(const CreateOptions& options) {
  std::vector<std::string> parts;
  if (!options.spec.empty()) parts.push_back(options.spec);
  for (const std::string& region : options.ram) parts.push_back("ram=" + region);
  for (const std::string& region : options.io) parts.push_back("io=" + region);
  if (!options.order.empty()) parts.push_back("order=" + options.order);
  if (!options.profile.empty()) parts.push_back("profile=" + options.profile);
  if (!options.processor.empty()) parts.push_back("processor=" + options.processor);
  if (options.track_guest_pages) parts.push_back("track-guest-pages=true");
  return absl::StrJoin(parts, ",");
}

int Create(const Context& context, const CreateOptions& options) {
  absl::StatusOr<hcall::PartitionSpec> spec = hcall::ParsePartitionSpec(SpecText(options));
  if (!spec.ok()) return FailUsage(std::string(spec.status().message()));
  if (!spec->name.empty() && spec->name != options.name) {
    return FailUsage("--spec names another partition");
  }
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  absl::StatusOr<v1::Partition> partition =
      PartitionAdmin(*connection).Create(options.name, spec->config);
  if (!partition.ok()) return Fail(partition.status());
  PrintPartition(context, *partition);
  return kExitOk;
}

int List(const Context& context) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  absl::StatusOr<std::vector<v1::Partition>> partitions = PartitionAdmin(*connection).List();
  if (!partitions.ok()) return Fail(partitions.status());
  Json all = Json::array();
  for (const v1::Partition& partition : *partitions) {
    if (context.json) {
      all.push_back(ToJson(partition));
    } else {
      absl::PrintF("%s\n", Line(partition));
    }
  }
  if (context.json) PrintJson({{"partitions", std::move(all)}});
  return kExitOk;
}

std::string BytesHex(const std::string& bytes) {
  return absl::StrJoin(bytes, " ", [](std::string* out, char byte) {
    absl::StrAppendFormat(out, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  });
}

void PrintDetails(const v1::Partition& partition, const v1::HptStatistics& statistics) {
  const v1::DeviceTree& tree = partition.device_tree();
  absl::PrintF("%s\n", Line(partition));
  for (const v1::MemoryRegion& region : partition.config().memory()) {
    const char* kind = region.kind() == v1::MemoryRegion::KIND_RAM ? "RAM" : "I/O";
    absl::PrintF("  %s 0x%x to 0x%x\n", kind, region.base(), region.base() + region.size() - 1);
  }
  absl::PrintF("  entries: %d valid, %d bolted, %d secondary, %d large\n", statistics.valid(),
               statistics.bolted(), statistics.secondary(), statistics.large());
  absl::PrintF("  memory: %d bytes of %d touched%s\n", statistics.resident_bytes(),
               statistics.table_bytes(), statistics.huge_pages() ? ", in huge pages" : "");
  if (partition.config().track_guest_pages()) {
    absl::PrintF("  tracking guest pages: %d bytes\n", statistics.tracking_bytes());
  }
  absl::PrintF("  PTEGs by valid entries, 0 to 8: %s\n",
               absl::StrJoin(statistics.pteg_fill(), " "));
  absl::PrintF("  digest: 0x%x\n", statistics.digest());
  if (statistics.pending_order() != 0) {
    absl::PrintF("  resize to order %d: %s\n", statistics.pending_order(),
                 statistics.pending_ready() ? "ready" : "being prepared");
  }
  absl::PrintF("  ibm,pft-size: %s\n", absl::StrJoin(tree.pft_size(), " "));
  absl::PrintF("  ibm,segment-page-sizes: %s\n",
               absl::StrJoin(tree.segment_page_sizes(), " ", [](std::string* out, uint32_t cell) {
                 absl::StrAppendFormat(out, "0x%x", cell);
               }));
  absl::PrintF("  ibm,hypertas-functions: %s\n", absl::StrJoin(tree.hypertas_functions(), " "));
  absl::PrintF("  block invalidate characteristics: %s\n",
               BytesHex(tree.block_invalidate_characteristics()));
}

int Show(const Context& context, const std::string& name) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  PartitionAdmin admin(*connection);
  absl::StatusOr<v1::Partition> partition = admin.Get(name);
  if (!partition.ok()) return Fail(partition.status());
  absl::StatusOr<v1::HptStatistics> statistics = admin.GetStatistics(name);
  if (!statistics.ok()) return Fail(statistics.status());
  if (context.json) {
    Json json = ToJson(*partition);
    json["statistics"] = ToJson(*statistics);
    PrintJson(json);
  } else {
    PrintDetails(*partition, *statistics);
  }
  return kExitOk;
}

int Reset(const Context& context, const std::string& name, std::optional<int> order) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  absl::StatusOr<v1::Partition> partition = PartitionAdmin(*connection).Reset(name, order);
  if (!partition.ok()) return Fail(partition.status());
  PrintPartition(context, *partition);
  return kExitOk;
}

int Delete(const Context& context, const std::string& name) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connect(context);
  if (!connection.ok()) return Fail(connection.status());
  const absl::Status status = PartitionAdmin(*connection).Delete(name);
  if (!status.ok()) return Fail(status);
  if (context.json) {
    PrintJson({{"deleted", name}});
  } else {
    absl::PrintF("%s deleted\n", name);
  }
  return kExitOk;
}

void AddCreate(CLI::App* group, Context* context) {
  auto options = std::make_shared<CreateOptions>();
  CLI::App* command = group->add_subcommand("create", "Make a partition with an empty table");
  command->fallthrough();
  command->add_option("NAME", options->name, "1 to 63 of a-z A-Z 0-9 . _ -")->required();
  command->add_option("--order", options->order, "log2 of the HPT's bytes, 18 to 46");
  command->add_option("--ram", options->ram, "BASE:SIZE, repeatable; default 0:1G")
      ->expected(1)
      ->take_all();
  command->add_option("--io", options->io, "BASE:SIZE of I/O registers, repeatable")
      ->expected(1)
      ->take_all();
  command->add_option("--profile", options->profile, "kvm-hv (default) or qemu-tcg");
  command->add_option("--processor", options->processor, "power7, power8 (default) or power9");
  command->add_flag("--track-guest-pages", options->track_guest_pages,
                    "For dirty, mappings, harvest, unmap; 8 bytes an HPTE and 8 a page");
  command->add_option("--spec", options->spec,
                      "Everything else, as hptd --partition takes it: KEY=VALUE,...");
  command->footer(
      "\nExamples:\n"
      "  hptctl partition create lpar1 --order 24 --ram 0:1G --ram 4G:512M\n"
      "  hptctl partition create old --spec profile=qemu-tcg,resize=manual,no-bulk-remove");
  command->callback([context, options] {
    context->action = [context, options] { return Create(*context, *options); };
  });
}

}  // namespace

void AddPartitionCommand(CLI::App* app, Context* context) {
  CLI::App* group =
      app->add_subcommand("partition", "Create, list, show, reset, delete partitions");
  group->fallthrough();
  group->require_subcommand(1);
  AddCreate(group, context);

  CLI::App* list = group->add_subcommand("list", "List all partitions by name");
  list->fallthrough();
  list->callback([context] { context->action = [context] { return List(*context); }; });

  auto name = std::make_shared<std::string>();
  CLI::App* show = group->add_subcommand(
      "show", "Show a partition: configuration, table, and what its guest reads");
  show->fallthrough();
  show->add_option("NAME", *name)->required();
  show->callback(
      [context, name] { context->action = [context, name] { return Show(*context, *name); }; });

  auto order = std::make_shared<std::optional<int>>();
  CLI::App* reset = group->add_subcommand("reset", "Machine reset: an empty table");
  reset->fallthrough();
  reset->add_option("NAME", *name)->required();
  reset->add_option("--order", *order, "log2 of the new table's bytes; default as created");
  reset->callback([context, name, order] {
    context->action = [context, name, order] { return Reset(*context, *name, *order); };
  });

  CLI::App* remove = group->add_subcommand("delete", "Delete a partition and its table");
  remove->fallthrough();
  remove->add_option("NAME", *name)->required();
  remove->callback(
      [context, name] { context->action = [context, name] { return Delete(*context, *name); }; });
}

}  // namespace papr::client::hptctl

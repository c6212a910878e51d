#include "server/guest_page_calls.h"

#include "absl/strings/string_view.h"
#include "hcall/guest_pages.h"
#include "server/bounded_count.h"
#include "server/errors.h"
#include "server/limits.h"

namespace papr::server {
namespace {

namespace v1 = mmu::v1;

// What is wrong with a request, with its field as the wire carries it. hcall/guest_pages.h names
// the fields as the requests do, at the beginning of the message.
absl::Status NameField(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  const absl::string_view message = status.message();
  const size_t colon = message.find(": ");
  return FieldError(message.substr(0, colon), message.substr(colon + 2));
}

}  // namespace

absl::Status GetDirtyPages(hcall::Partition& partition, const v1::GetDirtyPagesRequest& request,
                           v1::GetDirtyPagesResponse* response) {
  const auto most = BoundedCount("max_runs", request.max_runs(), kDefaultRuns, kMaxRuns);
  if (!most.ok()) return most.status();
  const auto take =
      request.keep() ? ::papr::mmu::DirtyLog::Take::kKeep : ::papr::mmu::DirtyLog::Take::kYes;
  const auto dirty =
      hcall::TakeDirtyPages(partition, request.start(), static_cast<size_t>(*most), take);
  if (!dirty.ok()) return NameField(dirty.status());
  for (const hcall::PageRun& run : dirty->runs) {
    v1::PageRun* out = response->add_runs();
    out->set_address(run.address);
    out->set_bytes(run.bytes);
  }
  response->set_more(dirty->more);
  response->set_next_start(dirty->next);
  return absl::OkStatus();
}

absl::Status ListMappings(hcall::Partition& partition, const v1::ListMappingsRequest& request,
                          v1::ListMappingsResponse* response) {
  const auto most =
      BoundedCount("max_mappings", request.max_mappings(), kDefaultMappings, kMaxMappings);
  if (!most.ok()) return most.status();
  const auto found = hcall::ListMappings(partition, request.page(), static_cast<size_t>(*most));
  if (!found.ok()) return NameField(found.status());
  for (const hcall::Mapping& mapping : found->mappings) {
    v1::Mapping* out = response->add_mappings();
    out->set_ptex(mapping.ptex);
    out->set_v(mapping.hpte.v);
    out->set_r(mapping.hpte.r);
    out->set_base_shift(static_cast<uint32_t>(mapping.sizes.base));
    out->set_actual_shift(static_cast<uint32_t>(mapping.sizes.actual));
  }
  response->set_more(found->more);
  return absl::OkStatus();
}

absl::Status HarvestReferenceChange(hcall::Partition& partition,
                                    const v1::HarvestReferenceChangeRequest& request,
                                    v1::HarvestReferenceChangeResponse* response) {
  using Clear = ::papr::mmu::ReferenceHarvest::Clear;
  const auto most = BoundedCount("max_runs", request.max_runs(), kDefaultRuns, kMaxRuns);
  if (!most.ok()) return most.status();
  const auto harvested = hcall::HarvestReferenceChange(partition, request.base(), request.size(),
                                                       static_cast<size_t>(*most),
                                                       request.keep() ? Clear::kNo : Clear::kYes);
  if (!harvested.ok()) return NameField(harvested.status());
  for (const ::papr::mmu::ReferenceRun& run : harvested->runs) {
    v1::ReferenceRun* out = response->add_runs();
    out->set_address(run.address);
    out->set_bytes(run.bytes);
    out->set_referenced(run.referenced);
    out->set_changed(run.changed);
  }
  response->set_more(harvested->more);
  response->set_next_base(harvested->next);
  return absl::OkStatus();
}

absl::Status RemoveMappings(hcall::Partition& partition, const v1::RemoveMappingsRequest& request,
                            v1::RemoveMappingsResponse* response) {
  const auto removed = hcall::RemoveMappings(partition, request.base(), request.size());
  if (!removed.ok()) return NameField(removed.status());
  response->set_removed(removed->removed);
  response->set_more(removed->more);
  response->set_next_base(removed->next);
  return absl::OkStatus();
}

}  // namespace papr::server

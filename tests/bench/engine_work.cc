#include "tests/bench/engine_work.h"

#include <benchmark/benchmark.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>

#include "hcall/dispatch.h"
#include "hcall/dispatcher.h"

namespace papr::bench {
namespace {

using hcall::HcallRequest;
using hcall::HcallResult;

constexpr uint64_t kProtectFlags = hcall::kFlagAvpn | 3;

void FenceIf(Fence fence) {
#if defined(__x86_64__)
  if (fence == Fence::kAfterEach) _mm_lfence();
#else
  if (fence == Fence::kAfterEach) __sync_synchronize();
#endif
}

void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::cerr << "engine_bench: " << what << "\n";
  std::abort();
}

// The access that no implementation can do without: to read an entry, or to lock and unlock it.
uint64_t Access(mmu::HashPageTable& table, Call call, uint64_t ptex) {
  if (call == Call::kRead) return table.Read(ptex).v;
  return table.Lock(ptex).v();
}

// Range check and the access, nothing else: the least that a page table hcall can be.
hcall::Outcome NullRead(hcall::Partition& partition, hcall::Registers& registers) {
  const uint64_t ptex = registers[1];
  if (!partition.table().Contains(ptex)) return {hcall::kHParameter};
  registers[0] = partition.table().Read(ptex).v;
  return {hcall::kHSuccess, 1};
}
hcall::Outcome NullChange(hcall::Partition& partition, hcall::Registers& registers) {
  const uint64_t ptex = registers[1];
  if (!partition.table().Contains(ptex)) return {hcall::kHParameter};
  registers[0] = partition.table().Lock(ptex).v();
  return {hcall::kHSuccess, 1};
}
template <hcall::HcallFunction kFunction>
constexpr auto kNullTable = [] {
  std::array<hcall::HcallEntry, hcall::kOtherHcall> table{};
  table.fill({.function = kFunction, .name = "null"});
  return table;
}();

// Fills in the arguments of `call`, all other registers being zero.
void Fill(Call call, const Operation& op, HcallRequest& request) {
  auto& registers = request.registers;
  registers[1] = op.target;
  registers[2] = op.v;
  switch (call) {
    case Call::kEnter:
      request.opcode = hcall::kHEnter;
      registers[3] = op.r;
      return;
    case Call::kRemove:
      request.opcode = hcall::kHRemove;
      registers[0] = hcall::kFlagAvpn;
      return;
    case Call::kProtect:
      request.opcode = hcall::kHProtect;
      registers[0] = kProtectFlags;
      return;
    case Call::kRead:
      request.opcode = hcall::kHRead;
      return;
    case Call::kHashRemove:
      request.opcode = hcall::kHHashRemove;
      registers[0] = hcall::kFlagAvpn;
      return;
    case Call::kHashProtect:
      request.opcode = hcall::kHHashProtect;
      registers[0] = kProtectFlags;
      return;
  }
}

}  // namespace

std::string_view CallName(Call call) {
  constexpr std::string_view kNames[] = {"h_enter", "h_remove",      "h_protect",
                                         "h_read",  "h_hash_remove", "h_hash_protect"};
  return kNames[static_cast<size_t>(call)];
}

std::vector<Operation> Prepare(HalfFullTable& table, Call call, size_t count) {
  std::vector<Page> fresh;
  std::span<const Page> pages;
  if (call == Call::kEnter) {
    fresh = table.NewPagesThatFit(count);
    pages = fresh;
  } else {
    pages = table.ShuffleToEnd(count);
  }
  std::vector<Operation> operations;
  operations.reserve(count);
  for (const Page& page : pages) {
    const uint64_t primary = table.PrimaryPtex(page);
    if (call == Call::kEnter) {
      operations.push_back({primary, page.v, page.r, primary});
    } else {
      operations.push_back({Searches(call) ? page.hash : page.ptex, page.v & mmu::kVCompare, 0,
                            Searches(call) ? primary : page.ptex});
    }
  }
  return operations;
}

void Restore(HalfFullTable& table, Call call, std::span<const Operation> operations) {
  if (call == Call::kEnter) {
    for (const Operation& op : operations) table.partition().table().Lock(op.ptex).Store({});
  } else if (call == Call::kRemove || call == Call::kHashRemove) {
    for (Page& page : std::span(table.live()).last(operations.size())) {
      Require(table.TryEnter(page), "a removed page does not fit any more");
    }
  }
}

void RunHcalls(hcall::Partition& partition, Call call, std::span<Operation> operations,
               Fence fence) {
  int64_t codes = 0;
  HcallRequest request;
  for (Operation& op : operations) {
    Fill(call, op, request);
    const HcallResult result = Dispatch(partition, request);
    codes |= result.return_code;
    if (call == Call::kEnter) op.ptex = result.registers[0];
    FenceIf(fence);
  }
  Require(codes == hcall::kHSuccess, "an hcall failed");
}

void RunBatches(hcall::Partition& partition, Call call, std::span<Operation> operations,
                size_t frame) {
  std::vector<HcallRequest> requests(frame);
  std::vector<HcallResult> results(frame);
  int64_t codes = 0;
  while (!operations.empty()) {
    const auto batch = operations.first(std::min(frame, operations.size()));
    operations = operations.subspan(batch.size());
    for (size_t i = 0; i < batch.size(); ++i) Fill(call, batch[i], requests[i]);
    const size_t ran = DispatchBatch(partition, std::span(requests).first(batch.size()),
                                     hcall::BatchMode::kAll, results);
    Require(ran == batch.size(), "a batch stopped early");
    for (size_t i = 0; i < batch.size(); ++i) {
      codes |= results[i].return_code;
      if (call == Call::kEnter) batch[i].ptex = results[i].registers[0];
    }
  }
  Require(codes == hcall::kHSuccess, "an hcall failed");
}

void RunNull(hcall::Partition& partition, Call call, std::span<const Operation> operations,
             Fence fence) {
  uint64_t sum = 0;
  HcallRequest request;
  for (const Operation& op : operations) {
    Fill(call, op, request);
    request.registers[1] = op.ptex;
    const HcallResult result =
        call == Call::kRead ? hcall::Dispatcher<kNullTable<NullRead>>::RunOne(partition, request)
                            : hcall::Dispatcher<kNullTable<NullChange>>::RunOne(partition, request);
    sum += result.registers[0];
    FenceIf(fence);
  }
  benchmark::DoNotOptimize(sum);
}

void RunBare(hcall::Partition& partition, Call call, std::span<const Operation> operations,
             Fence fence) {
  mmu::HashPageTable& table = partition.table();
  uint64_t sum = 0;
  for (const Operation& op : operations) {
    sum += Access(table, call, op.ptex);
    FenceIf(fence);
  }
  benchmark::DoNotOptimize(sum);
}

void RunBareWithPrefetch(hcall::Partition& partition, Call call,
                         std::span<const Operation> operations) {
  constexpr size_t kAhead = 16;
  mmu::HashPageTable& table = partition.table();
  uint64_t sum = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    if (i + kAhead < operations.size()) table.Prefetch(operations[i + kAhead].ptex);
    sum += Access(table, call, operations[i].ptex);
  }
  benchmark::DoNotOptimize(sum);
}

}  // namespace papr::bench

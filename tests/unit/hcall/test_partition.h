// Short forms for tests that issue hcalls to a partition in the process.

#ifndef TESTS_UNIT_HCALL_TEST_PARTITION_H_
#define TESTS_UNIT_HCALL_TEST_PARTITION_H_

#include <initializer_list>
#include <memory>
#include <string_view>

#include "gtest/gtest.h"
#include "hcall/dispatch.h"
#include "hcall/partition.h"
#include "hcall/partition_spec.h"

namespace papr::hcall {

// A partition of a specification (hcall/partition_spec.h).
inline std::unique_ptr<Partition> MakePartition(std::string_view spec) {
  auto parsed = ParsePartitionSpec(spec);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  if (!parsed.ok()) return nullptr;
  auto partition = Partition::Create(std::move(parsed->config));
  EXPECT_TRUE(partition.ok()) << partition.status();
  return partition.ok() ? *std::move(partition) : nullptr;
}

inline HcallRequest Request(uint64_t opcode, std::initializer_list<uint64_t> arguments) {
  HcallRequest request;
  request.opcode = opcode;
  size_t i = 0;
  for (const uint64_t argument : arguments) request.registers[i++] = argument;
  return request;
}

inline HcallResult Call(Partition& partition, uint64_t opcode,
                        std::initializer_list<uint64_t> arguments) {
  return Dispatch(partition, Request(opcode, arguments));
}

}  // namespace papr::hcall

#endif  // TESTS_UNIT_HCALL_TEST_PARTITION_H_

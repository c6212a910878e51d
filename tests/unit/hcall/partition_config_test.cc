#include "hcall/partition_config.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace papr::hcall {
namespace {

using testing::StartsWith;

constexpr uint64_t kGigabyte = uint64_t{1} << 30;

PartitionConfig Good() {
  PartitionConfig config;
  config.memory = {{0, kGigabyte, MemoryRegion::Kind::kRam}};
  return config;
}

TEST(PartitionConfig, GoodOnesPass) {
  EXPECT_TRUE(Good().Validate().ok()) << Good().Validate();
  for (const int order : {18, 24, 46}) {
    PartitionConfig config = Good();
    config.order = order;
    config.max_order = order;
    EXPECT_TRUE(config.Validate().ok()) << config.Validate();
  }
  PartitionConfig adjacent = Good();
  adjacent.memory.push_back({kGigabyte, 0x1000, MemoryRegion::Kind::kIo});
  adjacent.memory.push_back({(uint64_t{1} << 60) - 0x1000, 0x1000, MemoryRegion::Kind::kRam});
  EXPECT_TRUE(adjacent.Validate().ok()) << adjacent.Validate();
}

TEST(PartitionConfig, WhatCannotBeIsRefusedWithTheFieldFirst) {
  const std::pair<const char*, std::function<void(PartitionConfig&)>> kBad[] = {
      {"order:", [](auto& c) { c.order = 17; }},
      {"order:", [](auto& c) { c.order = 47; }},
      {"order:", [](auto& c) { c.order = 0; }},
      {"max_order:", [](auto& c) { c.max_order = 17; }},
      {"max_order:", [](auto& c) { c.max_order = 47; }},
      {"max_order:", [](auto& c) { c.max_order = -1; }},
      {"memory:", [](auto& c) { c.memory.clear(); }},
      {"memory:", [](auto& c) { c.memory[0].kind = MemoryRegion::Kind::kIo; }},
      {"memory[0].base:", [](auto& c) { c.memory[0].base = 0x800; }},
      {"memory[0].size:", [](auto& c) { c.memory[0].size = 0; }},
      {"memory[0].size:", [](auto& c) { c.memory[0].size = 0x1800; }},
      {"memory[0].size:", [](auto& c) { c.memory[0].size = (uint64_t{1} << 60) + 0x1000; }},
      {"memory[0].size:", [](auto& c) { c.memory[0].base = uint64_t{1} << 60; }},
      {"memory[0].size:", [](auto& c) { c.memory[0].base = ~uint64_t{0xfff}; }},
      {"memory[1]:",
       [](auto& c) {
         c.memory.push_back({0x3ffff000, 0x2000, MemoryRegion::Kind::kIo});
       }},
      {"memory[1]:", [](auto& c) { c.memory.push_back(c.memory[0]); }},
      {"memory[2]:",
       [](auto& c) {
         c.memory.push_back({kGigabyte, 0x1000, MemoryRegion::Kind::kIo});
         c.memory.push_back({0x1000, 0x1000, MemoryRegion::Kind::kRam});
       }},
      {"memory:",
       [](auto& c) {
         for (uint64_t i = 1; i <= 1024; ++i) {
           c.memory.push_back({i * kGigabyte, 0x1000, MemoryRegion::Kind::kIo});
         }
       }},
      {"block_remove_sizes",
       [](auto& c) {
         c.block_remove_sizes = {{mmu::k64K, mmu::k16G}};
       }},
      {"block_remove_sizes",
       [](auto& c) {
         c.block_remove_sizes = {{mmu::k16M, mmu::k16M}};
       }},
      {"block_remove_sizes",
       [](auto& c) {
         c.block_remove_sizes = {{mmu::k4K, mmu::k4K}, {mmu::k4K, mmu::k4K}};
       }},
      {"block_remove_sizes",
       [](auto& c) {
         // Eight pages of 2 MB are more than the 8 MB that one AVPN names.
         c.page_sizes = *mmu::PageSizeTable::Create({{21, 0x100, {{21, 0x1}}}},
                                                    mmu::PageSizeTable::Match::kLpField);
         c.block_remove_sizes = {{21, 21}};
       }},
      {"hash_opcode_base:", [](auto& c) { c.hash_opcode_base = 0xf901; }},
      {"hash_opcode_base:", [](auto& c) { c.hash_opcode_base = 0xeffc; }},
      {"hash_opcode_base:", [](auto& c) { c.hash_opcode_base = 0xfff8; }},
      {"hash_opcode_base:", [](auto& c) { c.hash_opcode_base = 0xf000; }},
      {"hash_opcode_base:", [](auto& c) { c.hash_opcode_base = 0xf078; }},
      {"hash_opcode_base:", [](auto& c) { c.hash_opcode_base = 0xf7f8; }},
      {"hash_opcode_base:", [](auto& c) { c.hash_opcode_base = 0x100000000; }}};
  for (const auto& [field, spoil] : kBad) {
    PartitionConfig config = Good();
    spoil(config);
    const absl::Status status = config.Validate();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), StartsWith(field));
  }
}

// Three opcodes from the base on; none may be 0xf000-0xf005, 0xf078-0xf080 or 0xf800-0xf80c.
TEST(PartitionConfig, HashOpcodesBesideTheKnownOnes) {
  const auto takes = [](uint64_t base) {
    PartitionConfig config = Good();
    config.hash_opcode_base = base;
    return config.Validate().ok();
  };
  for (const uint64_t base : {0xf008, 0xf06c, 0xf084, 0xf7f4, 0xf810, 0xfff4}) {
    EXPECT_TRUE(takes(base)) << base;
  }
  for (const uint64_t base : {0xeff0, 0xf004, 0xf070, 0xf080, 0xf7f8, 0xf80c}) {
    EXPECT_FALSE(takes(base)) << base;
  }
}

TEST(PartitionConfig, FeaturesThatQemuLacks) {
  const std::pair<const char*, bool Features::*> kLacks[] = {
      {"features.block_remove:", &Features::block_remove},
      {"features.clear_rc:", &Features::clear_rc},
      {"features.clear_hpt:", &Features::clear_hpt}};
  for (const auto& [field, feature] : kLacks) {
    PartitionConfig config = Good();
    config.profile = Profile::kQemuTcg;
    config.page_sizes = mmu::PageSizeTable::QemuDefault();
    config.block_remove_sizes.clear();
    config.features = Features::Default(Profile::kQemuTcg);
    EXPECT_TRUE(config.Validate().ok()) << config.Validate();
    config.features.hash = true;  // may be asked for
    EXPECT_TRUE(config.Validate().ok()) << config.Validate();
    config.features.*feature = true;
    EXPECT_THAT(std::string(config.Validate().message()), StartsWith(field));
  }
}

TEST(PartitionConfig, DefaultFeatures) {
  const Features kvm = Features::Default(Profile::kKvmHv);
  EXPECT_TRUE(kvm.bulk_remove && kvm.block_remove && kvm.hash && kvm.resize && kvm.clear_rc &&
              kvm.page_init && kvm.clear_hpt);
  const Features qemu = Features::Default(Profile::kQemuTcg);
  EXPECT_TRUE(qemu.bulk_remove && qemu.resize && qemu.page_init);
  EXPECT_FALSE(qemu.block_remove || qemu.hash || qemu.clear_rc || qemu.clear_hpt);
}

TEST(PartitionConfig, OrderForRam) {
  EXPECT_EQ(OrderForRam(0), 18);
  EXPECT_EQ(OrderForRam(4096), 18);
  EXPECT_EQ(OrderForRam(uint64_t{32} << 20), 18);
  EXPECT_EQ(OrderForRam((uint64_t{32} << 20) + 1), 19);
  EXPECT_EQ(OrderForRam(kGigabyte), 23);
  EXPECT_EQ(OrderForRam(kGigabyte + 1), 24);
  EXPECT_EQ(OrderForRam(3 * kGigabyte), 25);
  EXPECT_EQ(OrderForRam(uint64_t{1} << 53), 46);
  EXPECT_EQ(OrderForRam(~uint64_t{0}), 46);
}

TEST(PartitionConfig, MaxOrderIsOneAboveWhatSuitsTheRam) {
  PartitionConfig config = Good();
  EXPECT_EQ(config.MaxOrder(), 24);
  config.memory.push_back({uint64_t{4} << 30, kGigabyte, MemoryRegion::Kind::kRam});
  config.memory.push_back({uint64_t{8} << 30, kGigabyte, MemoryRegion::Kind::kIo});
  EXPECT_EQ(config.RamBytes(), 2 * kGigabyte);
  EXPECT_EQ(config.MaxOrder(), 25);
  config.max_order = 30;
  EXPECT_EQ(config.MaxOrder(), 30);
  config.max_order = 0;
  config.memory = {{0, uint64_t{1} << 59, MemoryRegion::Kind::kRam}};
  EXPECT_EQ(config.MaxOrder(), 46);
}

// A link of the reverse map has room for the ptex of 2^31 entries.
TEST(PartitionConfig, TrackingIsForOrdersUpTo35) {
  PartitionConfig config = Good();
  config.track_guest_pages = true;
  config.order = 35;
  EXPECT_TRUE(config.Validate().ok());
  config.memory = {{0, uint64_t{1} << 59, MemoryRegion::Kind::kRam}};
  EXPECT_EQ(config.MaxOrder(), 35);
  const auto refused = [&config](const char* field) {
    const std::string message(config.Validate().message());
    EXPECT_EQ(message.rfind(field, 0), 0u) << message;
  };
  config.order = 36;
  refused("order:");
  config.order = 18;
  config.max_order = 36;
  refused("max_order:");
  config.max_order = 35;
  EXPECT_TRUE(config.Validate().ok());
  std::vector<mmu::SegmentPageSize> segments = {{mmu::k4K, 0, {{mmu::k4K, 0}}}};
  for (int shift = 20; shift < 31; ++shift) {
    segments.front().encodings.push_back({shift, static_cast<uint32_t>(shift)});
  }
  config.page_sizes = *mmu::PageSizeTable::Create(segments, mmu::PageSizeTable::Match::kLpField);
  config.block_remove_sizes.clear();
  refused("page_sizes:");
  config.mmu = MmuKind::kRadix;
  refused("track_guest_pages:");
}

TEST(PartitionConfig, Names) {
  EXPECT_EQ(ProfileName(Profile::kKvmHv), "kvm-hv");
  EXPECT_EQ(ProfileName(Profile::kQemuTcg), "qemu-tcg");
  EXPECT_EQ(ProcessorName(Processor::kPower7), "power7");
  EXPECT_EQ(ProcessorName(Processor::kPower8), "power8");
  EXPECT_EQ(ProcessorName(Processor::kPower9), "power9");
}

}  // namespace
}  // namespace papr::hcall

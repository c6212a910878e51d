// Every limit of the daemon, with its reason. Those an operator may want to move are flags of the
// same name (server/flags.cc); the others are constants.

#ifndef SERVER_LIMITS_H_
#define SERVER_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace papr::server {

struct Limits {
  // A partition costs a few KB even when empty, and a scrape looks at each.
  uint64_t max_partitions = 4096;
  // Bytes of HPTs in all, as reserved (2^order each), pending tables of resizes included. Tables
  // take host memory as they fill; what this bounds is address space, 128 TB on common hosts.
  uint64_t max_hpt_bytes = uint64_t{64} << 40;
  // Hcalls a batch, updates a SetReferenceChange: one request holds a gRPC thread for about a
  // millisecond at most, and its scratch stays below 1 MB a thread.
  uint64_t max_batch_hcalls = 4096;
  // Bytes of a request. A full batch of 4096 hcalls with 9 arguments takes 400 KB.
  uint64_t max_message_bytes = uint64_t{4} << 20;
  // RPCs at once on one connection; gRPC makes a client wait with more.
  uint64_t max_concurrent_rpcs = 1024;
  // Resets and resizes that wait for a worker thread, and as many scans.
  uint64_t max_queued_operations = 1024;
  // Partitions with a `partition` label of their own in the metrics; the rest count as `other`.
  uint64_t metrics_max_partitions = 100;
};

// "At most 63 characters": fits a DNS label, a file name and a metric label.
inline constexpr size_t kMaxPartitionNameLength = 63;
// Encodings of all segment page sizes together. POWER7 to POWER9 have seven.
inline constexpr int kMaxPageSizeEncodings = 64;
// Pairs that H_BLOCK_REMOVE may be told to take.
inline constexpr int kMaxBlockRemoveSizes = 64;

// Of --partition_file: 4096 partitions of 4 KB each. What never ends, such as a device, is refused.
inline constexpr size_t kMaxPartitionFileBytes = size_t{16} << 20;

// ListPartitions.
inline constexpr int kDefaultPageSize = 100;
inline constexpr int kMaxPageSize = 1000;
// A page also ends here, so that it fits the 4 MB that gRPC clients take by default.
inline constexpr size_t kMaxPageBytes = size_t{1} << 20;

// CheckHpt.
inline constexpr int kDefaultFindings = 1000;
inline constexpr int kMaxFindings = 10000;

// GetDirtyPages and HarvestReferenceChange: a run takes some 20 bytes, so that an answer fits the 4
// MB that gRPC clients take by default.
inline constexpr int kDefaultRuns = 10'000;
inline constexpr int kMaxRuns = 50'000;

// ListMappings.
inline constexpr int kDefaultMappings = 1000;
inline constexpr int kMaxMappings = 10'000;
// ExportHpt: bytes of a read. The most takes a scan thread about a millisecond, and fits the 4 MB
// that gRPC clients take by default.
inline constexpr uint32_t kDefaultExportBytes = uint32_t{64} << 10;
inline constexpr uint32_t kMaxExportBytes = uint32_t{1} << 20;

// Threads for what changes whole tables (creation, resets, resizes): two, so that one reset of a
// huge table does not hold back all the others.
inline constexpr int kWorkerThreads = 2;
// Threads for scans, apart from those, so that nothing that a guest waits for is behind a scan.
inline constexpr int kScanThreads = 2;

// PTEGs that one scrape of the metrics looks at in all, and the least of one partition.
inline constexpr uint64_t kScrapePtegs = uint64_t{1} << 18;
inline constexpr uint64_t kScrapePtegsAtLeast = 64;

}  // namespace papr::server

#endif  // SERVER_LIMITS_H_

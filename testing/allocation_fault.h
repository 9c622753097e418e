#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::testkit {

/// Lets one allocation of memory for tensors on the CPU fail, as it does where
/// there is none left: of those that this thread makes while it lives, the one
/// with this number, counted from 0. One to a thread at a time.
///
///   AllocationFault fault(3);
///   EXPECT_THROW(metric.compute(), c10::Error);
///   EXPECT_TRUE(fault.happened());
class AllocationFault {
 public:
  /// Allocations of fewer bytes do not count.
  explicit AllocationFault(std::int64_t number, std::size_t least_bytes = 0);
  ~AllocationFault();
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;

  /// Whether there were so many.
  bool happened() const;
};

}  // namespace tally::testkit

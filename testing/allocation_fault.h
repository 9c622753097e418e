#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::testkit {

/// Makes one allocation of CPU tensor memory fail as if out of memory: the one
/// with this number, counted from 0, among the allocations of this thread
/// during the object's lifetime. One object per thread at a time.
///
///   AllocationFault fault(3);
///   EXPECT_THROW(metric.compute(), c10::Error);
///   EXPECT_TRUE(fault.happened());
class AllocationFault {
 public:
  /// Smaller allocations are not counted.
  explicit AllocationFault(std::int64_t number, std::size_t least_bytes = 0);
  ~AllocationFault();
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;

  /// Whether the fault has occurred.
  bool happened() const;
};

}  // namespace tally::testkit

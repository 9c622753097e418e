#pragma once

#include <cstddef>
#include <cstdint>

namespace tally::internal::text {

/// Code points from first to last, each step-th, and how far away their lower
/// case is.
struct LowerRange {
  std::int32_t first, last, step, distance;
};

extern const std::uint32_t kClassRuns[];
extern const std::size_t kClassRunsSize;
extern const std::uint32_t kCaseRuns[];
extern const std::size_t kCaseRunsSize;
extern const std::uint32_t kNormalRuns[];
extern const std::size_t kNormalRunsSize;
extern const std::uint32_t kDecimalDigits[];
extern const std::size_t kDecimalDigitsSize;
extern const LowerRange kLowerRanges[];
extern const std::size_t kLowerRangesSize;

}  // namespace tally::internal::text

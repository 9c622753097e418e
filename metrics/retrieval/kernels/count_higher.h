#pragma once

#include <cstdint>

namespace tally::internal::retrieval {

/// Scores are compared in blocks of this size at most.
inline constexpr std::int64_t kHigherBlock = 64;

/// For each score how many others are higher; returns the sum of that. Scores
/// are no NaN. REQUIRES: both arrays go on to a multiple of kHigherBlock.
std::int64_t count_higher(const float* scores, std::int64_t count,
                          std::int32_t* higher);
std::int64_t count_higher(const double* scores, std::int64_t count,
                          std::int64_t* higher);

}  // namespace tally::internal::retrieval

#pragma once

#include <cstdint>

#include "tally/metrics/resampling/philox.h"

namespace tally::internal::intervals {

/// A draw from Poisson(count) by four random words. Up to kMostExact it is an
/// integer; beyond, it is continuous: the expansion of Cornish and Fisher to
/// the third moment, at least 0. Integers are the same on any machine.
inline constexpr std::int64_t kMostExact = 512;
double poisson_count(std::int64_t count, const PhiloxCounter& words);

}  // namespace tally::internal::intervals

#pragma once

#include <cstdint>

namespace tally::internal::regression {

/// The number of pairs i < j with ranks[i] > ranks[j]; ranks are below
/// `distinct`. Both arrays are overwritten. Uses ATen's threads. REQUIRES:
/// count < 2^32.
std::int64_t count_inversions(std::uint32_t* ranks, std::uint32_t* spare,
                              std::int64_t count, std::int64_t distinct);

}  // namespace tally::internal::regression

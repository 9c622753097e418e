#pragma once

#include <cstdint>

namespace tally::internal::image {

/// to[i] = sum over k of taps[k] * from[i + k * step], for `count` places.
void add_taps(const double* from, const double* taps, std::int64_t size,
              std::int64_t step, std::int64_t count, double* to);

/// Its adjoint: adds taps[k] * from[i] to to[i + k * step].
void spread_taps(const double* from, const double* taps, std::int64_t size,
                 std::int64_t step, std::int64_t count, double* to);

}  // namespace tally::internal::image

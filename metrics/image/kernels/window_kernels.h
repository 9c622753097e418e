#pragma once

#include <cstdint>

namespace tally::internal::image {

/// to[i] = sum over k of taps[k] * from[i + k * step], for `count` places.
void add_taps(const double* from, const double* taps, std::int64_t size,
              std::int64_t step, std::int64_t count, double* to);

/// Its adjoint: adds taps[k] * from[i] to to[i + k * step].
void spread_taps(const double* from, const double* taps, std::int64_t size,
                 std::int64_t step, std::int64_t count, double* to);

/// to[i] = twice the sum of a pixel's differences from its eight neighbors;
/// beyond the border these are the nearest pixels.
void write_edges(const double* from, std::int64_t height, std::int64_t width,
                 double* to);

}  // namespace tally::internal::image

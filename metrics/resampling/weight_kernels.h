#pragma once

#include <cstdint>

#include "tally/metrics/resampling/philox.h"

/// Loops over the weights of samples in replicates: a row of `stride` bytes for
/// each sample, a multiple of kBitsPerBlock. Weights are at most 8.
namespace tally::internal::intervals {

inline constexpr std::int64_t kPoissonPerBlock = 8;
inline constexpr std::int64_t kBitsPerBlock = 128;

/// A row for each id, of the stream kPoisson: 8 weights from each block.
void poisson_weights(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                     std::int64_t stride, std::uint8_t* weights);

/// A row for each id, of the stream kDoubleOrNothing: 128 weights from each
/// block.
void bit_weights(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                 std::int64_t stride, std::uint8_t* weights);

/// Adds to sums [stride] how many of the ids have each bit of the stream
/// kDoubleOrNothing set.
void count_bits(PhiloxKey key, const std::int64_t* ids, std::int64_t count,
                std::int64_t stride, std::uint32_t* sums);

/// Adds the first two words of each id in a stream's block 0.
void sum_words(PhiloxKey key, PhiloxStream stream, const std::int64_t* ids,
               std::int64_t count, std::uint64_t* sums);

/// Adds rows of weights to sums [stride].
void add_weights(const std::uint8_t* weights, std::int64_t rows,
                 std::int64_t stride, std::uint32_t* sums);

/// The same, each row times a factor: factors[row * step]. In the rows' order
/// and not fused, so that sums are the same on any processor.
void add_products(const std::uint8_t* weights, std::int64_t rows,
                  std::int64_t stride, const double* factors, std::int64_t step,
                  double* sums);

}  // namespace tally::internal::intervals

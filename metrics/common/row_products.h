#pragma once

#include <cstdint>

/// Products of matrices, summed in one order: that of LibTorch's depends on the
/// processor's make and the number of threads. On processors without fused
/// multiplications the bits are others.
namespace tally::internal {

/// products[i * columns + j] = x[i] . y[j], for `rows` rows x and `columns`
/// rows y of `dims` numbers each, on the calling thread. A product's bits
/// depend on its two rows alone.
void row_products(const double* x, std::int64_t rows, const double* y,
                  std::int64_t columns, std::int64_t dims, double* products);

/// The mean of `count` rows of `dims` numbers each, and the products of all
/// deviations from it, scatter[i * dims + j], summed over rows: with half the
/// multiplications of a product. Large ones take several threads.
/// REQUIRES: count > 0.
void mean_and_scatter(const float* rows, std::int64_t count, std::int64_t dims,
                      double* mean, double* scatter);
void mean_and_scatter(const double* rows, std::int64_t count, std::int64_t dims,
                      double* mean, double* scatter);

}  // namespace tally::internal

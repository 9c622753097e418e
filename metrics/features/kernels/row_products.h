#pragma once

#include <cstdint>

/// Products of matrices, summed in one order: that of LibTorch's depends on the
/// processor's make and the number of threads.
namespace tally::internal::features {

/// products[i * columns + j] = x[i] . y[j], for `rows` rows x and `columns`
/// rows y of `dims` numbers each, on the calling thread. A product's bits
/// depend on its two rows alone; on processors without fused multiplications
/// they are others.
void row_products(const double* x, std::int64_t rows, const double* y,
                  std::int64_t columns, std::int64_t dims, double* products);

}  // namespace tally::internal::features

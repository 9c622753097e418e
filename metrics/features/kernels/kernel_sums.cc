#include "tally/metrics/features/kernels/kernel_sums.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "tally/metrics/common/hash.h"
#include "tally/metrics/common/row_products.h"
#include "tally/metrics/features/kernels/kernel_powers.h"

namespace tally::internal::features {
namespace {

// Rows of a tile's side.
constexpr std::int64_t kSide = 256;

struct Tile {
  std::int64_t row, rows, column, columns;
  bool on_diagonal;
};

// `x` and `y` have `dims` columns.
double sum_of(const Tile& tile, const double* x, const double* y,
              std::int64_t dims, const PolynomialKernel& kernel,
              std::vector<double>& products) {
  row_products(x + tile.row * dims, tile.rows, y + tile.column * dims,
               tile.columns, dims, products.data());
  double sum = 0;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const double* const row = products.data() + i * tile.columns;
    // Of a tile on the diagonal what is above it.
    const std::int64_t begin = tile.on_diagonal ? i + 1 : 0;
    sum += sum_of_powers(row + begin, tile.columns - begin, kernel.gamma,
                         kernel.coef, kernel.degree);
  }
  return sum;
}

// Over all pairs of x and y, or each pair of different rows of x once.
double sum_over_pairs(const at::Tensor& x, const at::Tensor& y, bool among_x,
                      const PolynomialKernel& kernel) {
  std::vector<Tile> tiles;
  for (std::int64_t row = 0; row < x.size(0); row += kSide) {
    for (std::int64_t column = among_x ? row : 0; column < y.size(0);
         column += kSide) {
      tiles.push_back({row, std::min(kSide, x.size(0) - row), column,
                       std::min(kSide, y.size(0) - column),
                       among_x && row == column});
    }
  }
  const at::Tensor rows_of_x = x.contiguous(), rows_of_y = y.contiguous();
  const auto* const from_x = rows_of_x.const_data_ptr<double>();
  const auto* const from_y = rows_of_y.const_data_ptr<double>();
  std::vector<double> sums(tiles.size());
  at::parallel_for(0, static_cast<std::int64_t>(tiles.size()), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     std::vector<double> products(kSide * kSide);
                     for (std::int64_t i = begin; i < end; ++i) {
                       sums[i] = sum_of(tiles[i], from_x, from_y, x.size(1),
                                        kernel, products);
                     }
                   });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

double squared_discrepancy(const at::Tensor& x, const at::Tensor& y,
                           const PolynomialKernel& kernel) {
  const auto n = static_cast<double>(x.size(0));
  const auto m = static_cast<double>(y.size(0));
  if (n < 2 || m < 2) return std::numeric_limits<double>::quiet_NaN();
  return 2 * sum_over_pairs(x, x, true, kernel) / (n * (n - 1)) +
         2 * sum_over_pairs(y, y, true, kernel) / (m * (m - 1)) -
         2 * sum_over_pairs(x, y, false, kernel) / (n * m);
}

at::Tensor subset_of(const at::Tensor& ids, std::uint64_t key,
                     std::int64_t size) {
  const std::int64_t* const from = ids.const_data_ptr<std::int64_t>();
  std::vector<std::pair<std::uint64_t, std::int64_t>> samples;
  samples.reserve(static_cast<std::size_t>(ids.size(0)));
  for (std::int64_t i = 0; i < ids.size(0); ++i) {
    samples.emplace_back(
        mixed(key + mixed(static_cast<std::uint64_t>(from[i]))), i);
  }
  std::nth_element(samples.begin(), samples.begin() + size - 1, samples.end());
  at::Tensor places = at::empty({size}, at::kLong);
  std::int64_t* const to = places.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) to[i] = samples[i].second;
  // nth_element's order is that of the library.
  std::sort(to, to + size);
  return places;
}

}  // namespace tally::internal::features

#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>

#include "tally/losses/common/no_subnormals.h"

/// Matrices of products, computed one tile at a time.
namespace tally::losses::internal {

inline constexpr std::int64_t kTileRows = 512;
inline constexpr std::int64_t kTileColumns = 1024;

/// Calls body(first, count) for ranges of `size`; the last one may be smaller.
template <class Body>
void for_each_range(std::int64_t total, std::int64_t size, const Body& body) {
  for (std::int64_t first = 0; first < total; first += size) {
    body(first, std::min(size, total - first));
  }
}

/// Calls body(first, count, thread) for ranges of a tile's rows, on all
/// threads.
template <class Body>
void for_each_stripe(std::int64_t rows, const Body& body) {
  const std::int64_t threads = at::get_num_threads();
  const std::int64_t grain =
      std::max<std::int64_t>(std::int64_t{8}, (rows + threads - 1) / threads);
  at::parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    const NoSubnormals no_subnormals;
    body(begin, end - begin, at::get_thread_num());
  });
}

/// tensor.narrow(0, first, size), without a view of all of it.
inline at::Tensor rows_of(const at::Tensor& tensor, std::int64_t first,
                          std::int64_t size) {
  const bool is_all = first == 0 && size == tensor.size(0);
  return is_all ? tensor : tensor.narrow(0, first, size);
}

/// tile = rows times the columns' transpose
void product_into(const at::Tensor& tile, const at::Tensor& rows,
                  const at::Tensor& columns);

/// Memory for one tile at a time.
class TileBuffer {
 public:
  explicit TileBuffer(const at::TensorOptions& options) : options_(options) {}
  /// rows times the columns' transpose. Valid until the next call.
  at::Tensor product(const at::Tensor& rows, const at::Tensor& columns);

 private:
  at::TensorOptions options_;
  at::Tensor memory_;  // of the first tile's sizes, or of a larger one's
};

/// matrix += a b
void add_product(const at::Tensor& matrix, const at::Tensor& a,
                 const at::Tensor& b);

/// An array of float or double, with space for kPadding additional elements.
at::Tensor padded_array(std::int64_t size, double value,
                        const at::TensorOptions& options);

/// The features in the dtype that Tally uses for computation.
at::Tensor working_copy(const at::Tensor& features);

}  // namespace tally::losses::internal

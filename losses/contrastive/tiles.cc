#include "tally/losses/contrastive/tiles.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>

#include "tally/losses/contrastive/tile_kernels.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {

void product_into(const at::Tensor& tile, const at::Tensor& rows,
                  const at::Tensor& columns) {
  at::Tensor result = tile;
  at::mm_out(result, rows, columns.t());
}

TileBuffer::TileBuffer(const at::TensorOptions& options)
    : memory_(at::empty({0}, options)) {}

at::Tensor TileBuffer::product(const at::Tensor& rows,
                               const at::Tensor& columns) {
  const std::int64_t size = rows.size(0) * columns.size(0);
  if (memory_.numel() < size) memory_ = at::empty({size}, memory_.options());
  const at::Tensor tile =
      memory_.narrow(0, 0, size).view({rows.size(0), columns.size(0)});
  product_into(tile, rows, columns);
  return tile;
}

void add_product(const at::Tensor& matrix, const at::Tensor& a,
                 const at::Tensor& b) {
  at::Tensor result = matrix;
  at::addmm_out(result, matrix, a, b);
}

at::Tensor padded_array(std::int64_t size, double value,
                        const at::TensorOptions& options) {
  return at::full({size + kPadding}, value, options);
}

at::Tensor working_copy(const at::Tensor& features) {
  return sync::plain(features).to(
      sync::accumulate_dtype(features.scalar_type()));
}

}  // namespace tally::losses::internal

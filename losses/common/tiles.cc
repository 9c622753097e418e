#include "tally/losses/common/tiles.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "tally/losses/common/ring.h"
#include "tally/losses/common/tile_kernels.h"
#include "tally/state/fresh_tensor.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {

RankRows::RankRows(std::vector<std::int64_t> rows) : rows_(std::move(rows)) {
  for (const std::int64_t count : rows_) {
    before_.push_back(total_);
    total_ += count;
    most_ = std::max(most_, count);
  }
}

Ring::Ring(const sync::Call& call) : call_(call) {}

int Ring::owner(int step) const {
  const int size = call_.size();
  return (call_.rank() - step % size + size) % size;
}

void Ring::pass(const at::Tensor& send, at::Tensor receive) {
  wait();
  // For as long as the transfer needs them.
  sent_ = send;
  received_ = std::move(receive);
  const int size = call_.size();
  transfer_ = call_.communicator->start_send_receive(
      sent_, (call_.rank() + 1) % size, received_,
      (call_.rank() + size - 1) % size, call_.timeout);
}

at::Tensor padded(const at::Tensor& tensor, std::int64_t rows) {
  if (tensor.size(0) >= rows) return tensor;
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes[0] = rows;
  at::Tensor result = at::zeros(sizes, tensor.options());
  result.narrow(0, 0, tensor.size(0)).copy_(tensor);
  return result;
}

void CirculatingTensor::depart(int step) {
  if (step + 1 == ring_.steps()) return;
  next_ = spare_.defined() ? spare_ : at::empty_like(here_);
  ring_.pass(here_, next_);
}

void CirculatingTensor::arrive() {
  if (!next_.defined()) return;
  ring_.wait();
  // The first one is the caller's own, and not to be written to.
  spare_ = departed_ ? here_ : at::Tensor();
  departed_ = true;
  here_ = std::move(next_);
  next_ = at::Tensor();
}

void product_into(const at::Tensor& tile, const at::Tensor& rows,
                  const at::Tensor& columns) {
  at::Tensor result = tile;
  at::mm_out(result, rows, columns.t());
}

at::Tensor TileBuffer::product(const at::Tensor& rows,
                               const at::Tensor& columns) {
  const std::int64_t sizes[] = {rows.size(0), columns.size(0)};
  const std::int64_t size = sizes[0] * sizes[1];
  if (!memory_.defined() || memory_.numel() < size) {
    memory_ = at::empty(sizes, options_);
  }
  at::Tensor tile = memory_;
  if (tile.sizes() != at::IntArrayRef(sizes)) {
    tile = memory_.view({-1}).narrow(0, 0, size).view(sizes);
  }
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
  const at::ScalarType dtype = c10::typeMetaToScalarType(options.dtype());
  at::Tensor result = tally::internal::fresh_tensor({size + kPadding}, dtype);
  if (dtype == at::kFloat) {
    std::fill_n(result.mutable_data_ptr<float>(), result.numel(),
                static_cast<float>(value));
  } else {
    std::fill_n(result.mutable_data_ptr<double>(), result.numel(), value);
  }
  return result;
}

at::Tensor working_copy(const at::Tensor& features) {
  const at::ScalarType dtype = sync::accumulate_dtype(features.scalar_type());
  // Of most, nothing else is to be done.
  if (features.scalar_type() == dtype && features.is_contiguous() &&
      !features.is_conj() && !features.is_neg()) {
    return sync::has_graph(features) ? features.detach() : features;
  }
  return sync::plain(features).to(dtype);
}

}  // namespace tally::losses::internal

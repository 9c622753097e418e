#include "tally/losses/contrastive/ring.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

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

}  // namespace tally::losses::internal

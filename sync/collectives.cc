#include "tally/sync/collectives.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

#include "tally/sync/autograd.h"
#include "tally/sync/exchange/tensor_collectives.h"
#include "tally/sync/exchange/tensors.h"
#include "tally/sync/gather.h"
#include "tally/sync/reduce.h"

namespace tally::sync {

std::vector<at::Tensor> gather_all_tensors(
    const at::Tensor& tensor, GradientFlow flow,
    std::shared_ptr<Communicator> communicator, Timeout timeout) {
  const Call call("gather_all_tensors", std::move(communicator), timeout);
  return internal::gather(call, flow, internal::Alike::kDimensions,
                          [&] { return tensor; });
}

namespace {

using internal::Chunks;
using internal::Parcel;
using internal::TensorAgreement;
using internal::TensorOffer;

// How many rows of `tensor` each rank gets.
std::vector<std::int64_t> shares(const Call& call, const at::Tensor& tensor,
                                 const std::vector<std::int64_t>& rows) {
  internal::check_dense(call, tensor);
  TORCH_CHECK_VALUE(tensor.dim() > 0, call.name,
                    ": expected rows to split, got a 0-dim tensor");
  const std::int64_t total = tensor.size(0);
  if (rows.empty()) {
    TORCH_CHECK_VALUE(total % call.size() == 0, call.name, ": expected ", total,
                      " rows to be a multiple of ", call.size(),
                      " ranks; give each rank's number of rows");
    return std::vector<std::int64_t>(call.size(), total / call.size());
  }
  std::int64_t sum = 0;
  bool valid = rows.size() == static_cast<std::size_t>(call.size());
  for (std::int64_t count : rows) {
    valid = valid && count >= 0;
    sum += count;
  }
  TORCH_CHECK_VALUE(valid && sum == total, call.name, ": expected ",
                    call.size(), " numbers of rows that add up to ", total,
                    ", got ", c10::IntArrayRef(rows));
  return rows;
}

std::vector<at::Tensor> split(const Call& call, const at::Tensor& tensor,
                              const std::vector<std::int64_t>& rows) {
  return tensor.split_with_sizes(shares(call, tensor, rows), 0);
}

at::Tensor ring(const Call& call, int shift,
                c10::function_ref<at::Tensor()> prepare) {
  const AskedBy asked = call.asked();
  at::Tensor tensor, own;
  const TensorAgreement agreement = internal::agree_on_tensors(call, [&] {
    tensor = prepare();
    internal::check_dense(call, tensor);
    own = plain(tensor);
    TensorOffer offer;
    offer.schema = c10::str("shift ", shift, " of ", own.scalar_type());
    offer.has_graph = has_graph(tensor);
    offer.device = own.device();
    internal::pack(call, {own}, offer);
    return offer;
  });
  const int size = call.size();
  const auto rank_at = [&](int steps) {
    return ((call.rank() + steps) % size + size) % size;
  };
  const int step = shift % size;
  const int from = rank_at(-step);
  at::Tensor result = carry_out(call, agreement, [&] {
    if (call.size() == 1) return internal::own_copy(own);
    const auto parcels = internal::parcels_of(call, agreement, 1);
    if (!agreement.any_moves) return parcels[from].tensor(0);
    std::int64_t most = 0;
    for (const Parcel& parcel : parcels) most = std::max(most, parcel.bytes());
    at::Tensor sent, received;
    make_ready(call, agreement, most, [&] {
      sent = own.to(agreement.device);
      received = at::empty(parcels[from].sizes[0], sent.options());
    });
    call.communicator
        ->start_send_receive(sent, rank_at(step), received, from, call.timeout)
        .wait();
    return received;
  });
  result = result.to(tensor.device());
  if (!agreement.any_graph) return result;
  const Call backward = call.backward(agreement.sequence);
  return attach(tensor, result, [=](const at::Tensor& gradient) {
    return ring(backward, -shift, [&] { return gradient; });
  });
}

// Other ranks' tensors must be like the root's, if they have any.
void check_like_root(const Call& call, const TensorAgreement& agreement,
                     const std::vector<Parcel>& parcels, int root) {
  std::vector<int> others;
  std::string text = "the ranks' tensors differ: ";
  for (std::size_t r = 0; r < parcels.size(); ++r) {
    const Parcel& parcel = parcels[r];
    text += c10::str(r == 0 ? "rank " : ", rank ", r, ": ");
    if (parcel.sizes.empty()) {
      text += "nothing";
      continue;
    }
    text += c10::str(parcel.dtype, " ", c10::IntArrayRef(parcel.sizes[0]));
    if (parcel.dtype != parcels[root].dtype ||
        parcel.sizes != parcels[root].sizes) {
      others.push_back(static_cast<int>(r));
    }
  }
  if (!others.empty()) mismatch(call, agreement, text, std::move(others));
}

at::Tensor broadcast_from(const Call& call, const at::Tensor& tensor,
                          int root) {
  const AskedBy asked = call.asked();
  const bool is_root = call.rank() == root;
  at::Tensor own;
  const TensorAgreement agreement = internal::agree_on_tensors(call, [&] {
    TORCH_CHECK_VALUE(root >= 0 && root < call.size(), call.name,
                      ": expected a root below ", call.size(), ", got ", root);
    if (is_root || tensor.defined()) {
      internal::check_dense(call, tensor);
      own = plain(tensor);
    }
    TensorOffer offer;
    offer.has_graph = has_graph(tensor);
    if (own.defined()) {
      offer.device = own.device();
      internal::pack(call, {own}, offer);
    } else {
      internal::pack(call, {}, offer);
    }
    return offer;
  });
  at::Tensor result = carry_out(call, agreement, [&] {
    if (call.size() == 1) return internal::own_copy(own);
    const auto parcels = internal::parcels_of(call, agreement, 1);
    check_like_root(call, agreement, parcels, root);
    const Parcel& parcel = parcels[static_cast<std::size_t>(root)];
    if (!agreement.any_moves) return parcel.tensor(0);
    at::Tensor moved;
    make_ready(call, agreement, parcel.bytes(), [&] {
      const auto on =
          at::TensorOptions().dtype(parcel.dtype).device(agreement.device);
      moved = is_root ? own.to(on, /*non_blocking=*/false, /*copy=*/true)
                      : at::empty(parcel.sizes[0], on);
    });
    call.communicator->broadcast(moved, root, call.timeout);
    return moved;
  });
  if (own.defined()) result = result.to(own.device());
  if (!agreement.any_graph) return result;
  const auto adjoint = [backward = call.backward(agreement.sequence), root,
                        is_root](const std::vector<at::Tensor>& gradients) {
    std::vector<at::Tensor> chunks(backward.size(),
                                   at::empty({0}, gradients[0].options()));
    chunks[root] = gradients[0];
    const at::Tensor sum =
        internal::sum_chunks(backward, 1, [&] { return chunks; });
    if (is_root) return std::vector<at::Tensor>{sum};
    // Tied to the sum, which has a backward pass of its own for all ranks.
    return std::vector<at::Tensor>{tie(at::zeros_like(gradients[0]), sum)};
  };
  std::vector<at::Tensor> inputs;
  if (own.defined()) inputs.push_back(tensor);
  return attach(inputs, {result}, adjoint)[0];
}

}  // namespace

at::Tensor all_gather(const at::Tensor& tensor,
                      std::shared_ptr<Communicator> communicator,
                      Timeout timeout) {
  const Call call("all_gather", std::move(communicator), timeout);
  const std::vector<at::Tensor> slots = internal::gather(
      call, GradientFlow::kAllRanks, internal::Alike::kRows, [&] {
        return tensor.defined() && tensor.dim() == 0 ? tensor.reshape({1})
                                                     : tensor;
      });
  if (!slots[0].defined()) return slots[0];
  return at::cat(slots);
}

at::Tensor all_reduce(const at::Tensor& tensor, Reduction reduction,
                      std::shared_ptr<Communicator> communicator,
                      Timeout timeout) {
  const Call call("all_reduce", std::move(communicator), timeout);
  return reduce(call, reduction, [&] { return tensor; });
}

at::Tensor reduce_scatter(const at::Tensor& tensor, Reduction reduction,
                          const std::vector<std::int64_t>& rows,
                          std::shared_ptr<Communicator> communicator,
                          Timeout timeout) {
  const Call call(c10::str("reduce_scatter (", to_string(reduction), ")"),
                  std::move(communicator), timeout);
  const bool mean = reduction == Reduction::kMean;
  return internal::sum_chunks(call, mean ? call.size() : 1, [&] {
    TORCH_CHECK_VALUE(mean || reduction == Reduction::kSum, call.name,
                      ": expected sum or mean; take this rank's rows of the "
                      "result of all_reduce");
    internal::check_dense(call, tensor);
    internal::check_reducible(call, reduction, tensor);
    return split(call, tensor, rows);
  });
}

at::Tensor broadcast(const at::Tensor& tensor, int root,
                     std::shared_ptr<Communicator> communicator,
                     Timeout timeout) {
  return broadcast_from(
      Call(c10::str("broadcast from ", root), std::move(communicator), timeout),
      tensor, root);
}

at::Tensor all_to_all(const at::Tensor& tensor,
                      const std::vector<std::int64_t>& rows,
                      std::shared_ptr<Communicator> communicator,
                      Timeout timeout) {
  const Call call("all_to_all", std::move(communicator), timeout);
  return at::cat(internal::exchange_chunks(call, [&] {
    Chunks chunks{split(call, tensor, rows), ""};
    chunks.schema = c10::str("rows of ", tensor.sizes().slice(1));
    return chunks;
  }));
}

std::vector<at::Tensor> all_to_all(const std::vector<at::Tensor>& tensors,
                                   std::shared_ptr<Communicator> communicator,
                                   Timeout timeout) {
  const Call call("all_to_all of a list", std::move(communicator), timeout);
  return internal::exchange_chunks(call, [&] { return Chunks{tensors, ""}; });
}

at::Tensor ring_exchange(const at::Tensor& tensor, int shift,
                         std::shared_ptr<Communicator> communicator,
                         Timeout timeout) {
  return ring(Call("ring_exchange", std::move(communicator), timeout), shift,
              [&] { return tensor; });
}

}  // namespace tally::sync

#include "tally/sync/statistics.h"

#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tally/state/codec.h"
#include "tally/sync/autograd.h"
#include "tally/sync/average_over_ranks.h"
#include "tally/sync/exchange/average_call.h"
#include "tally/sync/exchange/readiness.h"
#include "tally/sync/exchange/tensor_collectives.h"
#include "tally/sync/exchange/tensors.h"
#include "tally/sync/reduce.h"

namespace tally::sync {

namespace internal {
namespace {

struct Weights {
  explicit Weights(const TensorAgreement& agreement) {
    double total = 0;
    for (const std::string_view payload : agreement.payloads) {
      of_rank.push_back(Decoder(payload).real());
      total += of_rank.back();
    }
    none = total == 0;
    for (double& weight : of_rank) weight = none ? 0 : weight / total;
  }

  std::vector<double> of_rank;
  bool none;
};

at::Tensor term(const at::Tensor& mean, double weight) {
  const at::Tensor value = mean.to(accumulate_dtype(mean.scalar_type()));
  return weight == 0 ? at::zeros_like(value) : value.mul(weight);
}

// `moved` is a wide copy of this rank's, if they are not at hand.
at::Tensor value_of(const Call& call, const at::Tensor& own, at::Tensor moved,
                    const TensorAgreement& agreement, const Weights& weights) {
  if (weights.none) {
    return at::full_like(own, std::numeric_limits<double>::quiet_NaN());
  }
  if (call.size() == 1) return own_copy(own);
  if (agreement.any_moves) {
    bring(call, agreement, moved);
    const double weight = weights.of_rank[call.rank()];
    weight == 0 ? moved.zero_() : moved.mul_(weight);
    call.communicator->all_reduce(moved, ReduceOp::kSum, call.timeout);
    return moved.to(own.options());
  }
  at::Tensor sum;
  const auto parcels = parcels_of(call, agreement, 1, sizeof(double));
  for (std::size_t r = 0; r < parcels.size(); ++r) {
    const at::Tensor part = term(parcels[r].tensor(0), weights.of_rank[r]);
    sum = sum.defined() ? sum.add(part) : part;
  }
  return sum.to(own.options());
}

}  // namespace

at::Tensor average(const Call& call, double count, GradientFlow flow,
                   c10::function_ref<at::Tensor()> prepare) {
  const AskedBy asked = call.asked();
  at::Tensor mean, own, moved;
  const TensorAgreement agreement = agree_on_tensors(call, [&] {
    mean = prepare();
    check_dense(call, mean);
    TORCH_CHECK_VALUE(mean.is_floating_point(), call.name,
                      ": expected a floating dtype, got ", mean.scalar_type());
    TORCH_CHECK_VALUE(std::isfinite(count) && count >= 0, call.name,
                      ": expected a count of at least 0, got ", count);
    own = plain(mean);
    TensorOffer offer;
    offer.schema = c10::str("gradient flow ", to_string(flow), ", ",
                            own.scalar_type(), " ", own.sizes());
    offer.has_graph = flow == GradientFlow::kAllRanks && has_graph(mean);
    Encoder(offer.payload).real(count);
    offer.device = own.device();
    pack(call, {own}, offer);
    if (offer.moves) {
      moved =
          own.to(at::TensorOptions()
                     .dtype(accumulate_dtype(own.scalar_type()))
                     .device(likely_device(*call.communicator, own.device())),
                 /*non_blocking=*/false, /*copy=*/true);
    }
    return offer;
  });
  double weight = 0;
  const at::Tensor value = carry_out(call, agreement, [&] {
    const Weights weights(agreement);
    weight = weights.of_rank[call.rank()];
    return value_of(call, own, moved, agreement, weights);
  });

  if (agreement.any_graph) {
    const Call backward = call.backward(agreement.sequence);
    return attach(scale_gradient(mean, weight), value,
                  [backward](const at::Tensor& gradient) {
                    return reduce(backward, Reduction::kSum,
                                  [&] { return gradient; });
                  });
  }
  if (flow == GradientFlow::kDetached || !has_graph(mean)) return value;
  return replicated(call, scale_gradient(mean, weight), value,
                    flow == GradientFlow::kReplicated ? call.size() : 1);
}

}  // namespace internal

at::Tensor average_over_ranks(const at::Tensor& mean, double count,
                              GradientFlow flow,
                              std::shared_ptr<Communicator> communicator,
                              Timeout timeout) {
  const Call call("average_over_ranks", std::move(communicator), timeout);
  return internal::average(call, count, flow, [&] { return mean; });
}

namespace {

const at::Tensor& without_graph(const Call& call, const at::Tensor& tensor,
                                const char* differentiable) {
  TORCH_CHECK_VALUE(!has_graph(tensor), call.name,
                    ": expected a tensor without a graph, since the result "
                    "carries none; ",
                    differentiable, " keeps it, detach() drops it");
  return tensor;
}

}  // namespace

std::vector<at::Tensor> gather_statistics(
    const at::Tensor& tensor, std::shared_ptr<Communicator> communicator,
    Timeout timeout) {
  const Call call("gather_statistics", std::move(communicator), timeout);
  return internal::gather(
      call, GradientFlow::kDetached, internal::Alike::kDimensions,
      [&] { return without_graph(call, tensor, "gather_all_tensors"); });
}

at::Tensor sum_statistics(const at::Tensor& tensor,
                          std::shared_ptr<Communicator> communicator,
                          Timeout timeout) {
  const Call call("sum_statistics", std::move(communicator), timeout);
  return reduce(call, Reduction::kSum,
                [&] { return without_graph(call, tensor, "all_reduce"); });
}

at::Tensor mean_statistics(const at::Tensor& mean, double count,
                           std::shared_ptr<Communicator> communicator,
                           Timeout timeout) {
  const Call call("mean_statistics", std::move(communicator), timeout);
  return internal::average(call, count, GradientFlow::kDetached, [&] {
    return without_graph(call, mean, "average_over_ranks");
  });
}

}  // namespace tally::sync

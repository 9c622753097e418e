#include "tally/losses/pairs/dcl_loss.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include <cmath>
#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/row_pieces.h"
#include "tally/losses/common/two_views.h"
#include "tally/metrics/common/constants.h"
#include "tally/sync/agree.h"
#include "tally/sync/collectives.h"

namespace tally::losses {
namespace {

using internal::Tensors;
using sync::Call;

void check_positive(const char* loss, const char* name, double value) {
  TORCH_CHECK_VALUE(std::isfinite(value) && value > 0, loss, ": expected ",
                    name, " above 0, got ", value);
}

at::Tensor unit_rows(const at::Tensor& rows) {
  return rows.div(rows.norm(2, {1}, /*keepdim=*/true).clamp_min(1e-12));
}

at::Tensor dots(const at::Tensor& a, const at::Tensor& b) {
  return a.mul(b).sum(1);
}

/// Rows of both views, of length 1.
struct Pairs {
  at::Tensor a, b;          ///< [n, D], of this rank
  at::Tensor all_a, all_b;  ///< [M, D]
  std::int64_t first;       ///< of this rank's among all
};

/// Weights of this rank's pairs, for either view as the first one; undefined
/// for 1.
using Weigh =
    std::function<std::pair<at::Tensor, at::Tensor>(const Pairs& pairs)>;

/// The sum over rows of what the loss is the mean of. `skip` [n, 2] are columns
/// that are not negatives.
at::Tensor negatives(const Tensors& by_row, const Tensors& shared) {
  const at::Tensor& rows = by_row[0];
  const at::Tensor& skip = by_row[1];
  return rows.matmul(shared[0].t())
      .scatter(1, skip, -tally::internal::kInfinity)
      .logsumexp(1)
      .sum();
}

at::Tensor loss_of(const Call& call, const at::Tensor& a, const at::Tensor& b,
                   double temperature, const std::string& options,
                   c10::function_ref<void()> check_options,
                   const Weigh& weigh) {
  const internal::AutocastOff as_written;
  const internal::RowAgreement agreement = internal::agree_on_rows(call, [&] {
    check_options();
    internal::check_features(call, "a", a, "b", b);
    return internal::RowOffer{
        a.size(0),
        c10::str(a.scalar_type(), " rows of ", a.size(1), ", ", options),
        false};
  });
  const auto total = static_cast<double>(agreement.rows.total());
  internal::check_rows_of_all_ranks(call, total);
  if (total == 0) return internal::loss_without_rows({a, b});

  return sync::or_give_up(*call.communicator, [&] {
    Pairs pairs;
    const at::ScalarType dtype = sync::accumulate_dtype(a.scalar_type());
    pairs.a = unit_rows(a.to(dtype));
    pairs.b = unit_rows(b.to(dtype));
    const std::int64_t rows = a.size(0), features = a.size(1);
    const at::Tensor all = sync::all_gather(at::cat({pairs.a, pairs.b}, 1),
                                            call.communicator, call.timeout);
    pairs.all_a = all.narrow(1, 0, features);
    pairs.all_b = all.narrow(1, features, features);
    pairs.first = agreement.rows.before(call.rank());

    const at::Tensor own =
        at::arange(pairs.first, pairs.first + rows,
                   at::TensorOptions().dtype(at::kLong).device(a.device()));
    const at::Tensor skip =
        at::stack({own, own.add(agreement.rows.total())}, 1);
    const std::int64_t columns = 2 * agreement.rows.total();
    at::Tensor sum = internal::sum_over_pieces(
        {at::cat({pairs.a, pairs.b}).div(temperature), at::cat({skip, skip})},
        {at::cat({pairs.all_a, pairs.all_b})},
        internal::rows_at_once(columns, pairs.a), negatives);
    const auto [weight_a, weight_b] = weigh(pairs);
    const at::Tensor alike = dots(pairs.a, pairs.b).div(temperature);
    for (const at::Tensor& weight : {weight_a, weight_b}) {
      sum = sum.sub((weight.defined() ? alike.mul(weight) : alike).sum());
    }
    return internal::replicated_sum(call, sum).div(2 * total);
  });
}

at::Tensor checked_weights(const char* loss, const at::Tensor& weights,
                           const at::Tensor& rows) {
  TORCH_CHECK_VALUE(
      weights.defined() && weights.dim() == 1 &&
          weights.size(0) == rows.size(0),
      loss, ": expected weight_fn to return a weight for each of ",
      rows.size(0), " rows, got ",
      weights.defined() ? c10::str(weights.sizes()) : "an undefined tensor");
  return weights;
}

void check_dcl(const DCLLossOptions& options) {
  check_positive("DCLLoss", "temperature", options.temperature());
}

void check_dcl(const DCLWLossOptions& options) {
  check_positive("DCLWLoss", "temperature", options.temperature());
  check_positive("DCLWLoss", "sigma", options.sigma());
}

}  // namespace

namespace functional {

at::Tensor dcl_loss(const at::Tensor& a, const at::Tensor& b,
                    const DCLLossOptions& options) {
  const Call call("DCLLoss", options.communicator(), options.timeout());
  return loss_of(
      call, a, b, options.temperature(), options_repr(options),
      [&] { check_dcl(options); },
      [&](const Pairs& pairs) {
        if (!options.weight_fn()) return std::pair<at::Tensor, at::Tensor>();
        const auto weights = [&](const at::Tensor& x, const at::Tensor& y) {
          return checked_weights("DCLLoss", options.weight_fn()(x, y), x);
        };
        // In this order, whatever the compiler: functions may have a state.
        const at::Tensor of_a = weights(pairs.a, pairs.b);
        return std::pair(of_a, weights(pairs.b, pairs.a));
      });
}

at::Tensor dclw_loss(const at::Tensor& a, const at::Tensor& b,
                     const DCLWLossOptions& options) {
  const Call call("DCLWLoss", options.communicator(), options.timeout());
  return loss_of(
      call, a, b, options.temperature(), options_repr(options),
      [&] { check_dcl(options); },
      [&](const Pairs& pairs) {
        const at::Tensor similarities =
            dots(pairs.all_a.detach(), pairs.all_b.detach())
                .div(options.sigma());
        const at::Tensor weights =
            similarities.softmax(0)
                .mul(-static_cast<double>(similarities.size(0)))
                .add(2)
                .narrow(0, pairs.first, pairs.a.size(0));
        return std::pair(weights, weights);
      });
}

}  // namespace functional

DCLLossImpl::DCLLossImpl(DCLLossOptions options)
    : LossModule(std::move(options)) {
  check_dcl(options_);
}

at::Tensor DCLLossImpl::forward(const at::Tensor& a, const at::Tensor& b) {
  return functional::dcl_loss(a, b, options_);
}

DCLWLossImpl::DCLWLossImpl(DCLWLossOptions options)
    : LossModule(std::move(options)) {
  check_dcl(options_);
}

at::Tensor DCLWLossImpl::forward(const at::Tensor& a, const at::Tensor& b) {
  return functional::dclw_loss(a, b, options_);
}

template class internal::LossModule<DCLLossImpl, DCLLossOptions>;
template class internal::LossModule<DCLWLossImpl, DCLWLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::DCLLossImpl>;
template class torch::nn::Cloneable<tally::losses::DCLWLossImpl>;

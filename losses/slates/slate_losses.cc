#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sort.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/row_pieces.h"
#include "tally/losses/slates/approx_ndcg_loss.h"
#include "tally/losses/slates/lambda_loss.h"
#include "tally/losses/slates/list_net_loss.h"
#include "tally/losses/slates/slates.h"
#include "tally/metrics/common/constants.h"

namespace tally::losses {
namespace {

using internal::slates::check_above_0;
using internal::slates::checked_slates;
using internal::slates::differences;
using internal::slates::discounts;
using internal::slates::gains_of;
using internal::slates::ideal_dcg;
using internal::slates::loss_of_slates;
using internal::slates::of_both;
using internal::slates::or_one;
using internal::slates::Part;
using internal::slates::Slates;
using Tensors = std::vector<at::Tensor>;

void check(const ApproxNDCGLossOptions& options) {
  check_above_0(ApproxNDCGLossImpl::kName, "alpha", options.alpha());
}

void check(const LambdaLossOptions& options) {
  const char* const name = LambdaLossImpl::kName;
  check_above_0(name, "sigma", options.sigma());
  TORCH_CHECK_VALUE(std::isfinite(options.mu()) && options.mu() >= 0, name,
                    ": expected mu of at least 0, got ", options.mu());
  TORCH_CHECK_VALUE(!options.top_k() || *options.top_k() >= 1, name,
                    ": expected top_k of at least 1, got ",
                    options.top_k().value_or(0));
}

/// The sum of slates' approximate NDCG, of scores, gains / IDCG and items.
at::Tensor approx_ndcg(const at::Tensor& scores, const at::Tensor& gains,
                       const at::Tensor& items, double alpha) {
  const at::Tensor others = of_both(items).logical_and(
      at::eye(scores.size(1), items.options()).logical_not());
  // The score of padding may be anything.
  const at::Tensor clean = scores.masked_fill(items.logical_not(), 0);
  const at::Tensor positions =
      differences(clean).mul(-alpha).sigmoid().mul(others).sum(2).add(1);
  return gains.div(positions.add(1).log2()).sum();
}

/// Weights of pairs, [B, L, L], of slates in the order of scores; `gains` are
/// divided by IDCG.
at::Tensor weights_of(const LambdaLossOptions& options, const at::Tensor& gains,
                      const at::Tensor& grades) {
  const std::int64_t items = grades.size(1);
  const at::Tensor inverse = discounts(items + 1, grades).reciprocal();
  const at::Tensor by_position = inverse.narrow(0, 0, items);
  const auto ndcg2 = [&] {
    const at::Tensor places =
        at::arange(items, grades.options().dtype(at::kLong));
    const at::Tensor apart = places.unsqueeze(1).sub(places.unsqueeze(0)).abs();
    // 1 / D(k) - 1 / D(k + 1) of positions k apart; an item and itself are no
    // pair.
    const at::Tensor steps =
        inverse.slice(0, 0, items).sub(inverse.slice(0, 1));
    return steps.index_select(0, apart.sub(1).clamp_min(0).flatten())
        .view({items, items})
        .mul(apart.gt(0))
        .mul(differences(gains).abs());
  };
  const auto lambda_rank = [&] {
    return differences(by_position.unsqueeze(0))
        .abs()
        .mul(differences(gains).abs());
  };
  switch (options.weight()) {
    case LambdaWeight::kRankNet:
      return at::ones_like(differences(grades));
    case LambdaWeight::kNDCG1:
      return gains.mul(by_position)
          .unsqueeze(2)
          .expand({grades.size(0), items, items});
    case LambdaWeight::kNDCG2:
      return ndcg2();
    case LambdaWeight::kLambdaRank:
      return lambda_rank();
    case LambdaWeight::kNDCG2PlusPlus:
      return ndcg2().mul(options.mu()).add(lambda_rank());
    case LambdaWeight::kGradeDifference:
      return differences(grades).abs();
    case LambdaWeight::kSquaredGradeDifference:
      return differences(grades.square()).abs();
  }
  C10_THROW_ERROR(Error, "unknown weight");
}

/// Which pairs count, [B, L, L], of slates in the order of scores.
at::Tensor pairs_of(const LambdaLossOptions& options, const at::Tensor& grades,
                    const at::Tensor& items) {
  at::Tensor pairs = of_both(items);
  if (options.weight() != LambdaWeight::kNDCG1) {
    pairs = pairs.logical_and(differences(grades).gt(0));
  }
  if (!options.top_k()) return pairs;
  const at::Tensor first =
      at::arange(grades.size(1), grades.options().dtype(at::kLong))
          .lt(*options.top_k());
  return pairs.logical_and(of_both(first.unsqueeze(0)));
}

Part lambda_part(const LambdaLossOptions& options, const Slates& slates) {
  const std::int64_t length = slates.grades.size(1);
  // Padding comes last, equal scores by index.
  const at::Tensor order = std::get<1>(
      at::sort(slates.scores.detach().masked_fill(slates.items.logical_not(),
                                                  -tally::internal::kInfinity),
               /*stable=*/true, 1, /*descending=*/true));
  const at::Tensor scores = slates.scores.gather(1, order);
  const at::Tensor grades = slates.grades.gather(1, order);
  const at::Tensor items = slates.items.gather(1, order);
  const at::Tensor ideal =
      or_one(ideal_dcg(grades, options.top_k().value_or(length))).unsqueeze(1);
  const at::Tensor gains = gains_of(grades).div(ideal);
  const at::Tensor sum = internal::sum_over_pieces(
      {scores, gains, grades, items}, {},
      internal::rows_at_once(length * length, scores),
      [options](const Tensors& of, const Tensors&) {
        const at::Tensor clean = of[0].masked_fill(of[3].logical_not(), 0);
        const at::Tensor log_odds =
            at::log_sigmoid(differences(clean).mul(options.sigma()))
                .div(-std::log(2.0));
        return log_odds.mul(weights_of(options, of[1], of[2]))
            .mul(pairs_of(options, of[2], of[3]))
            .sum();
      });
  const at::NoGradGuard no_grad;
  const at::Tensor count = internal::sum_over_pieces(
      {grades.to(at::kDouble), items}, {},
      internal::rows_at_once(length * length, scores),
      [options](const Tensors& of, const Tensors&) {
        const at::Tensor pairs =
            pairs_of(options, of[0], of[1]).flatten(1).sum(1);
        return (options.mean_over() == LambdaMean::kPairs ? pairs : pairs.gt(0))
            .sum()
            .to(at::kDouble);
      });
  return {sum, count};
}

}  // namespace

namespace functional {

at::Tensor approx_ndcg_loss(const at::Tensor& preds, const at::Tensor& target,
                            const ApproxNDCGLossOptions& options,
                            const at::Tensor& query) {
  const char* const name = ApproxNDCGLossImpl::kName;
  return loss_of_slates(
      internal::call_of(name, options), options.padding(), preds, target, query,
      [&](const at::Tensor& x, const at::Tensor& y) {
        check(options);
        const Slates slates =
            checked_slates(name, x, y, options.padding(), /*any_grade=*/false);
        const std::int64_t length = x.size(1);
        const at::Tensor ideal = ideal_dcg(slates.grades, length);
        const at::Tensor counted = options.count_irrelevant()
                                       ? at::ones_like(ideal)
                                       : ideal.gt(0).to(ideal.scalar_type());
        const at::Tensor sum = internal::sum_over_pieces(
            {slates.scores,
             gains_of(slates.grades).div(or_one(ideal).unsqueeze(1)),
             slates.items},
            {}, internal::rows_at_once(length * length, slates.scores),
            [alpha = options.alpha()](const Tensors& of, const Tensors&) {
              return approx_ndcg(of[0], of[1], of[2], alpha);
            });
        return Part{counted.sum().sub(sum), counted.sum()};
      });
}

at::Tensor lambda_loss(const at::Tensor& preds, const at::Tensor& target,
                       const LambdaLossOptions& options,
                       const at::Tensor& query) {
  const char* const name = LambdaLossImpl::kName;
  return loss_of_slates(
      internal::call_of(name, options), options.padding(), preds, target, query,
      [&](const at::Tensor& x, const at::Tensor& y) {
        check(options);
        return lambda_part(options,
                           checked_slates(name, x, y, options.padding(),
                                          /*any_grade=*/false));
      });
}

at::Tensor list_net_loss(const at::Tensor& preds, const at::Tensor& target,
                         const ListNetLossOptions& options,
                         const at::Tensor& query) {
  const char* const name = ListNetLossImpl::kName;
  return loss_of_slates(
      internal::call_of(name, options), options.padding(), preds, target, query,
      [&](const at::Tensor& x, const at::Tensor& y) {
        const Slates slates = checked_slates(name, x, y, options.padding(),
                                             /*any_grade=*/true);
        const at::Tensor padding = slates.items.logical_not();
        // Low enough to have no probability, and no NaN where all is
        // padding.
        const double low = -1e30;
        const at::Tensor given =
            slates.grades.masked_fill(padding, low).softmax(1);
        const at::Tensor log_p = slates.scores.masked_fill(padding, low)
                                     .log_softmax(1)
                                     .masked_fill(padding, 0);
        return Part{given.mul(log_p).sum().neg(),
                    slates.items.any(1).sum().to(at::kDouble)};
      });
}

}  // namespace functional

ApproxNDCGLossImpl::ApproxNDCGLossImpl(ApproxNDCGLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor ApproxNDCGLossImpl::forward(const at::Tensor& preds,
                                       const at::Tensor& target,
                                       const at::Tensor& query) {
  return functional::approx_ndcg_loss(preds, target, options(), query);
}

LambdaLossImpl::LambdaLossImpl(LambdaLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor LambdaLossImpl::forward(const at::Tensor& preds,
                                   const at::Tensor& target,
                                   const at::Tensor& query) {
  return functional::lambda_loss(preds, target, options(), query);
}

ListNetLossImpl::ListNetLossImpl(ListNetLossOptions options)
    : LossModule(std::move(options)) {}

at::Tensor ListNetLossImpl::forward(const at::Tensor& preds,
                                    const at::Tensor& target,
                                    const at::Tensor& query) {
  return functional::list_net_loss(preds, target, options(), query);
}

template class internal::LossModule<ApproxNDCGLossImpl, ApproxNDCGLossOptions>;
template class internal::LossModule<LambdaLossImpl, LambdaLossOptions>;
template class internal::LossModule<ListNetLossImpl, ListNetLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::ApproxNDCGLossImpl>;
template class torch::nn::Cloneable<tally::losses::LambdaLossImpl>;
template class torch::nn::Cloneable<tally::losses::ListNetLossImpl>;

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <string>
#include <utility>

#include "tally/losses/all_rows.h"
#include "tally/losses/autocast.h"
#include "tally/losses/contrastive/loss_call.h"
#include "tally/losses/pairs/two_views.h"
#include "tally/losses/ranking/aucm_loss.h"
#include "tally/losses/ranking/pair_sums.h"
#include "tally/losses/ranking/pairwise_auc_loss.h"
#include "tally/losses/ranking/scored_labels.h"
#include "tally/sync/reduce.h"

namespace tally::losses {
namespace {

using internal::ScoredLabels;
using sync::Call;

void check_margin(const char* loss, double margin) {
  TORCH_CHECK_VALUE(std::isfinite(margin), loss,
                    ": expected a finite margin, got ", margin);
}

void check(const PairwiseAUCLossOptions& options) {
  const char* const name = PairwiseAUCLossImpl::kName;
  check_margin(name, options.margin());
  TORCH_CHECK_VALUE(std::isfinite(options.scale()) && options.scale() > 0, name,
                    ": expected scale above 0, got ", options.scale());
}

void check(const AUCMLossOptions& options) {
  check_margin(AUCMLossImpl::kName, options.margin());
}

/// Means and variances of the scores of all ranks, for either label.
struct Moments {
  at::Tensor positive_mean, negative_mean;  ///< less `center`
  at::Tensor positive_variance, negative_variance;
  double center = 0;
  bool any_pair = false;
};

/// Scores are taken less their mean, which is a constant: added again or left
/// out, it changes no derivative.
Moments moments_of(const Call& call, c10::function_ref<ScoredLabels()> prepare,
                   ScoredLabels& own) {
  const at::Tensor counts = sync::reduce(call, sync::Reduction::kSum, [&] {
    own = prepare();
    const auto count = [&](const at::Tensor& indices) {
      return at::full_like(own.scores.sum().detach(),
                           static_cast<double>(indices.numel()));
    };
    return at::stack(
        {count(own.is), count(own.isnt), own.scores.detach().sum()});
  });
  const auto positives = counts[0].item<double>();
  const auto negatives = counts[1].item<double>();
  Moments result;
  result.any_pair = positives > 0 && negatives > 0;
  if (!result.any_pair) return result;
  result.center = counts[2].item<double>() / (positives + negatives);
  const at::Tensor sums = sync::or_give_up(*call.communicator, [&] {
    const at::Tensor p = own.positives().sub(result.center);
    const at::Tensor n = own.negatives().sub(result.center);
    return internal::replicated_sum(
        call,
        at::stack({p.sum(), p.square().sum(), n.sum(), n.square().sum()}));
  });
  const auto variance = [](const at::Tensor& squares, const at::Tensor& mean) {
    return squares.sub(mean.square());
  };
  result.positive_mean = sums[0].div(positives);
  result.negative_mean = sums[2].div(negatives);
  result.positive_variance =
      variance(sums[1].div(positives), result.positive_mean);
  result.negative_variance =
      variance(sums[3].div(negatives), result.negative_mean);
  return result;
}

/// By how much the mean negative is above the mean positive less the margin.
at::Tensor excess(const Moments& moments, double margin) {
  return moments.negative_mean.sub(moments.positive_mean).add(margin);
}

at::Tensor squared_loss(const Call& call, const PairwiseAUCLossOptions& options,
                        c10::function_ref<ScoredLabels()> prepare) {
  ScoredLabels own;
  const Moments moments = moments_of(call, prepare, own);
  if (!moments.any_pair) return internal::loss_without_pairs(call, own);
  return excess(moments, options.margin())
      .square()
      .add(moments.positive_variance)
      .add(moments.negative_variance)
      .to(own.result_dtype);
}

/// The sum over pairs of f(b - a), where a are the scores of the class with
/// fewer samples, which are gathered.
at::Tensor gathered_loss(const Call& call,
                         const PairwiseAUCLossOptions& options,
                         c10::function_ref<ScoredLabels()> prepare) {
  ScoredLabels own;
  const internal::LabelAgreement ranks =
      internal::agree_on_labels(call, prepare, own);
  const std::int64_t positives = ranks.positives.total();
  const std::int64_t negatives = ranks.negatives.total();
  if (positives == 0 || negatives == 0) {
    return internal::loss_without_pairs(call, own);
  }
  return sync::or_give_up(*call.communicator, [&] {
    const bool hinge = options.surrogate() == AUCSurrogate::kSquaredHinge;
    const double margin = hinge ? options.margin() : 0;
    // Of positives p and negatives n, either a = p and b = n + margin, or a =
    // -(n + margin) and b = -p.
    const bool gather_positives = positives <= negatives;
    const at::Tensor plain = own.scores.detach();
    const at::Tensor p = plain.index_select(0, own.is);
    const at::Tensor n = plain.index_select(0, own.isnt).add(margin);
    const internal::RankRows& rows =
        gather_positives ? ranks.positives : ranks.negatives;
    at::Tensor a =
        internal::all_rows(call, rows, gather_positives ? p : n.neg());
    at::Tensor b = gather_positives ? n : p.neg();
    const at::Tensor center = a.mean();
    a = a.sub(center);
    b = b.sub(center);
    const internal::PairSums pairs =
        hinge ? internal::squared_hinge_pairs(a.cpu(), b.cpu())
              : internal::logistic_pairs(a, b, options.scale());
    at::Tensor sums = at::cat({at::full({1}, pairs.value, a.options()),
                               pairs.by_a.to(a.device())})
                          .to(call.communicator->device());
    if (call.size() > 1) {
      call.communicator->all_reduce(sums, sync::ReduceOp::kSum, call.timeout);
    }
    sums = sums.to(a.device())
               .div(static_cast<double>(positives) *
                    static_cast<double>(negatives));
    const double sign = gather_positives ? 1 : -1;
    const at::Tensor by_a =
        sums.narrow(0, 1 + rows.before(call.rank()), rows.of(call.rank()))
            .mul(sign);
    const at::Tensor by_b = pairs.by_b.to(a.device())
                                .mul(sign / (static_cast<double>(positives) *
                                             static_cast<double>(negatives)));
    at::Tensor gradient = at::zeros_like(plain);
    gradient.index_copy_(0, own.is, gather_positives ? by_a : by_b);
    gradient.index_copy_(0, own.isnt, gather_positives ? by_b : by_a);
    return internal::replicated_value(
        call, sums[0].to(own.result_dtype),
        {internal::differentiable_once(
            call, own.scores,
            "are not supported by this surrogate; kSquared supports them")},
        {gradient});
  });
}

}  // namespace

namespace functional {

at::Tensor pairwise_auc_loss(const at::Tensor& preds, const at::Tensor& target,
                             const PairwiseAUCLossOptions& options) {
  const internal::AutocastOff as_written;
  const char* const name = PairwiseAUCLossImpl::kName;
  const Call call = internal::call_of(name, options);
  const auto prepare = [&] {
    check(options);
    return internal::scored_labels(name, preds, target);
  };
  return options.surrogate() == AUCSurrogate::kSquared
             ? squared_loss(call, options, prepare)
             : gathered_loss(call, options, prepare);
}

at::Tensor aucm_loss(const at::Tensor& preds, const at::Tensor& target,
                     const AUCMLossOptions& options, const at::Tensor& a,
                     const at::Tensor& b, const at::Tensor& alpha) {
  const internal::AutocastOff as_written;
  const char* const name = AUCMLossImpl::kName;
  const Call call = internal::call_of(name, options);
  const bool closed = !a.defined() && !b.defined() && !alpha.defined();
  ScoredLabels own;
  const Moments moments = moments_of(
      call,
      [&] {
        check(options);
        if (!closed) {
          internal::checked_number(Call(name), "a", a);
          internal::checked_number(Call(name), "b", b);
          internal::checked_number(Call(name), "alpha", alpha);
        }
        return internal::scored_labels(name, preds, target);
      },
      own);
  if (!moments.any_pair) return internal::loss_without_pairs(call, own);
  const at::Tensor above = excess(moments, options.margin());
  const at::Tensor variances =
      moments.positive_variance.add(moments.negative_variance);
  if (closed) {
    return variances.add(above.clamp_min(0).square()).to(own.result_dtype);
  }
  const auto distance = [&](const at::Tensor& mean, const at::Tensor& from) {
    return mean.add(moments.center).sub(from.reshape({}).to(at::kDouble));
  };
  const at::Tensor dual = alpha.reshape({}).to(at::kDouble);
  return variances.add(distance(moments.positive_mean, a).square())
      .add(distance(moments.negative_mean, b).square())
      .add(dual.mul(above).mul(2))
      .sub(dual.square())
      .to(own.result_dtype);
}

}  // namespace functional

PairwiseAUCLossImpl::PairwiseAUCLossImpl(PairwiseAUCLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor PairwiseAUCLossImpl::forward(const at::Tensor& preds,
                                        const at::Tensor& target) {
  return functional::pairwise_auc_loss(preds, target, options());
}

AUCMLossImpl::AUCMLossImpl(AUCMLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
  reset();
}

void AUCMLossImpl::reset() {
  if (!options().learned()) return;
  a = register_parameter("a", at::zeros({}));
  b = register_parameter("b", at::zeros({}));
  alpha = register_parameter("alpha", at::zeros({}));
}

at::Tensor AUCMLossImpl::forward(const at::Tensor& preds,
                                 const at::Tensor& target) {
  return functional::aucm_loss(preds, target, options(), a, b, alpha);
}

}  // namespace tally::losses

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/common/all_rows.h"
#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/scored_labels.h"
#include "tally/losses/common/tiles.h"
#include "tally/losses/common/two_views.h"
#include "tally/losses/ranking/aucm_loss.h"
#include "tally/losses/ranking/pair_sums.h"
#include "tally/losses/ranking/pairwise_auc_loss.h"
#include "tally/metrics/common/constants.h"
#include "tally/sync/reduce.h"

namespace tally::losses::internal {
namespace {

bool has_nan(const at::Tensor& numbers) {
  return numbers.isnan().any().item<bool>();
}

/// How many numbers are below x, of a sorted array that is not empty. Intervals
/// of equal width say where to look.
class CountBelow {
 public:
  explicit CountBelow(const std::vector<double>& sorted)
      : sorted_(sorted),
        least_(sorted.front()),
        intervals_(static_cast<double>(2 * sorted.size())),
        scale_(std::min(intervals_ / (sorted.back() - sorted.front()),
                        std::numeric_limits<double>::max())),
        begins_(2 * sorted.size() + 2) {
    for (const double number : sorted) ++begins_[interval(number) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  }

  std::int64_t operator()(double x) const {
    if (!(x > least_)) return 0;
    const std::size_t at = interval(x);
    const double* first = sorted_.data() + begins_[at];
    std::int64_t size = begins_[at + 1] - begins_[at];
    while (size > 1) {
      const std::int64_t half = size / 2;
      first = first[half - 1] < x ? first + half : first;
      size -= half;
    }
    return first - sorted_.data() + (size == 1 && *first < x ? 1 : 0);
  }

 private:
  // Not smaller for a larger number.
  std::size_t interval(double x) const {
    return static_cast<std::size_t>(
        std::min(std::max(0.0, (x - least_) * scale_), intervals_));
  }

  const std::vector<double>& sorted_;
  double least_, intervals_, scale_;
  std::vector<std::int64_t> begins_;
};

}  // namespace

PairSums squared_hinge_pairs(const at::Tensor& a, const at::Tensor& b,
                             const at::Tensor& weights) {
  PairSums result{0, at::zeros_like(a), at::zeros_like(b)};
  if (a.numel() == 0) return result;
  if (has_nan(a) || has_nan(b)) {
    constexpr double nan = tally::internal::kNaN;
    return {nan, at::full_like(a, nan), at::full_like(b, nan)};
  }
  const at::Tensor given_a = a.contiguous(), given_b = b.contiguous();
  const auto count = static_cast<std::size_t>(a.numel());
  const double* const from = given_a.data_ptr<double>();
  const at::Tensor given_weights =
      weights.defined() ? weights.contiguous() : at::ones_like(given_a);
  const double* const w = given_weights.data_ptr<double>();
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return from[i] != from[j] ? from[i] < from[j] : i < j;
  });
  std::vector<double> sorted(count);
  // Of the k lowest: their weights, and sums by weight.
  std::vector<double> ones(count + 1), sums(count + 1), squares(count + 1);
  for (std::size_t k = 0; k < count; ++k) {
    const double weight = w[order[k]];
    sorted[k] = from[order[k]];
    ones[k + 1] = ones[k] + weight;
    sums[k + 1] = sums[k] + weight * sorted[k];
    squares[k + 1] = squares[k] + weight * sorted[k] * sorted[k];
  }

  const CountBelow below(sorted);
  // Of the b with k lower a: their number and sum.
  std::vector<double> numbers(count + 1), totals(count + 1);
  const double* const larger = given_b.data_ptr<double>();
  double* const by_b = result.by_b.data_ptr<double>();
  for (std::int64_t i = 0; i < b.numel(); ++i) {
    const double x = larger[i];
    const std::int64_t k = below(x);
    result.value += ones[k] * x * x - 2 * x * sums[k] + squares[k];
    by_b[i] = 2 * (ones[k] * x - sums[k]);
    numbers[k] += 1;
    totals[k] += x;
  }
  double* const by_a = result.by_a.data_ptr<double>();
  double number = 0, total = 0;
  for (std::size_t k = count; k > 0; --k) {
    number += numbers[k];
    total += totals[k];
    by_a[order[k - 1]] = 2 * w[order[k - 1]] * (number * sorted[k - 1] - total);
  }
  return result;
}

PairSums logistic_pairs(const at::Tensor& a, const at::Tensor& b, double scale,
                        const at::Tensor& weights) {
  PairSums result{0, at::empty_like(a), at::zeros_like(b)};
  const at::Tensor w = weights.defined() ? weights : at::ones_like(a);
  const std::int64_t at_once = std::max<std::int64_t>(
      1, (1 << 20) / std::max<std::int64_t>(1, b.numel()));
  for_each_range(
      a.numel(), at_once, [&](std::int64_t first, std::int64_t size) {
        const at::Tensor weight = w.narrow(0, first, size).unsqueeze(1);
        const at::Tensor x = b.unsqueeze(0)
                                 .sub(a.narrow(0, first, size).unsqueeze(1))
                                 .mul(scale);
        const at::Tensor slopes = x.sigmoid().mul(weight).mul(scale);
        // Exact also where it is tiny or large.
        result.value += x.clamp_min(0)
                            .add(x.abs().neg().exp().log1p())
                            .mul(weight)
                            .sum()
                            .item<double>();
        result.by_a.narrow(0, first, size).copy_(slopes.sum(1).neg());
        result.by_b.add_(slopes.sum(0));
      });
  return result;
}

}  // namespace tally::losses::internal

namespace tally::losses {
namespace {

using internal::ScoredLabels;
using sync::Call;

void check_margin(const char* loss, double margin) {
  TORCH_CHECK_VALUE(std::isfinite(margin), loss,
                    ": expected a finite margin, got ", margin);
}

void check_auc(const PairwiseAUCLossOptions& options) {
  const char* const name = PairwiseAUCLossImpl::kName;
  check_margin(name, options.margin());
  TORCH_CHECK_VALUE(std::isfinite(options.scale()) && options.scale() > 0, name,
                    ": expected scale above 0, got ", options.scale());
}

void check_auc(const AUCMLossOptions& options) {
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
    check_auc(options);
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
        check_auc(options);
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
  check_auc(this->options());
}

at::Tensor PairwiseAUCLossImpl::forward(const at::Tensor& preds,
                                        const at::Tensor& target) {
  return functional::pairwise_auc_loss(preds, target, options());
}

AUCMLossImpl::AUCMLossImpl(AUCMLossOptions options)
    : LossModule(std::move(options)) {
  check_auc(this->options());
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

template class internal::LossModule<AUCMLossImpl, AUCMLossOptions>;
template class internal::LossModule<PairwiseAUCLossImpl,
                                    PairwiseAUCLossOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::AUCMLossImpl>;
template class torch::nn::Cloneable<tally::losses::PairwiseAUCLossImpl>;

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tally/losses/all_rows.h"
#include "tally/losses/autocast.h"
#include "tally/losses/contrastive/loss_call.h"
#include "tally/losses/contrastive/tiles.h"
#include "tally/losses/ranking/fast_ap_loss.h"
#include "tally/losses/ranking/scored_labels.h"
#include "tally/losses/ranking/smooth_ap_loss.h"
#include "tally/sync/reduce.h"

namespace tally::losses {
namespace {

using internal::ScoredLabels;
using sync::Call;

void check(const SmoothAPLossOptions& options) {
  TORCH_CHECK_VALUE(
      std::isfinite(options.temperature()) && options.temperature() > 0,
      SmoothAPLossImpl::kName, ": expected temperature above 0, got ",
      options.temperature());
}

void check(const FastAPLossOptions& options) {
  TORCH_CHECK_VALUE(options.num_bins() >= 1, FastAPLossImpl::kName,
                    ": expected num_bins of at least 1, got ",
                    options.num_bins());
  TORCH_CHECK_VALUE(
      std::isfinite(options.lowest()) && std::isfinite(options.highest()) &&
          options.lowest() < options.highest(),
      FastAPLossImpl::kName, ": expected highest above lowest, got ",
      options.highest(), " and ", options.lowest());
}

/// Positives of all ranks, and this rank's samples, of which those with the
/// indices `is` are the positives from `before` on.
struct Ranking {
  at::Tensor positives, scores, is;
  std::int64_t before;
};

/// sigmoid((s_j - s_i) / temperature) of positives i and this rank's samples j,
/// and its derivative by s_j times the temperature, some rows at a time. Both 0
/// for a positive and itself: what cancels would hide small derivatives.
template <class Body>
void for_each_tile(const Ranking& of, double temperature, const Body& body) {
  const std::int64_t at_once = std::max<std::int64_t>(
      1, (1 << 20) / std::max<std::int64_t>(1, of.scores.numel()));
  internal::for_each_range(
      of.positives.numel(), at_once,
      [&](std::int64_t first, std::int64_t size) {
        at::Tensor x =
            of.scores.unsqueeze(0)
                .sub(of.positives.narrow(0, first, size).unsqueeze(1))
                .div(temperature);
        const std::int64_t begin = std::max(first, of.before);
        const std::int64_t end =
            std::min(first + size, of.before + of.is.numel());
        if (begin < end) {
          x.narrow(0, begin - first, end - begin)
              .scatter_(
                  1,
                  of.is.narrow(0, begin - of.before, end - begin).unsqueeze(1),
                  -std::numeric_limits<double>::infinity());
        }
        const at::Tensor above = x.sigmoid();
        // Not above * (1 - above), which is 0 far above.
        body(first, size, above, above.mul(x.neg().sigmoid()));
      });
}

at::Tensor smooth_ap(const Call& call, double temperature,
                     const internal::LabelAgreement& ranks,
                     const ScoredLabels& own) {
  const at::Tensor scores = own.scores.detach();
  const internal::RankRows& rows = ranks.positives;
  const Ranking ranking{
      internal::all_rows(call, rows, scores.index_select(0, own.is)), scores,
      own.is, rows.before(call.rank())};
  // Columns: positives, negatives.
  const at::Tensor labels =
      at::stack({own.positive, own.positive.logical_not()}, 1).to(at::kDouble);

  // For each positive, over samples of either label: the sum of sigmoids, and
  // of their derivatives.
  at::Tensor sums = at::empty({rows.total(), 4}, scores.options());
  for_each_tile(
      ranking, temperature,
      [&](std::int64_t first, std::int64_t size, const at::Tensor& above,
          const at::Tensor& slopes) {
        sums.narrow(0, first, size)
            .copy_(at::cat({above.matmul(labels), slopes.matmul(labels)}, 1));
      });
  if (call.size() > 1) {
    sums = sums.to(call.communicator->device());
    call.communicator->all_reduce(sums, sync::ReduceOp::kSum, call.timeout);
    sums = sums.to(scores.device());
  }

  const at::Tensor among_positives = sums.select(1, 0).add(1);
  const at::Tensor among_negatives = sums.select(1, 1);
  const at::Tensor rank = among_positives.add(among_negatives);
  const auto count = static_cast<double>(rows.total());
  const at::Tensor value = among_positives.div(rank).sum().div(-count).add(1);
  const at::Tensor factor = rank.square().mul(count * temperature).reciprocal();
  const at::Tensor by_positives = among_negatives.mul(factor).neg();
  const at::Tensor by_negatives = among_positives.mul(factor);

  // As samples that stand above positives, and as positives.
  const at::Tensor by_label = at::stack({by_positives, by_negatives}, 1);
  at::Tensor gradients = at::zeros({scores.numel(), 2}, scores.options());
  for_each_tile(ranking, temperature,
                [&](std::int64_t first, std::int64_t size, const at::Tensor&,
                    const at::Tensor& slopes) {
                  gradients.addmm_(slopes.t(), by_label.narrow(0, first, size));
                });
  at::Tensor gradient = gradients.mul(labels).sum(1);
  const at::Tensor as_positive =
      by_positives.mul(sums.select(1, 2))
          .add(by_negatives.mul(sums.select(1, 3)))
          .narrow(0, rows.before(call.rank()), rows.of(call.rank()));
  gradient.index_add_(0, own.is, as_positive.neg());
  return internal::replicated_value(
      call, value.to(own.result_dtype),
      {internal::differentiable_once(call, own.scores, "are not supported")},
      {gradient});
}

/// The soft histograms of positives and of all samples, [2, num_bins + 1], from
/// the highest score to the lowest.
at::Tensor histograms_of(const FastAPLossOptions& options,
                         const ScoredLabels& samples) {
  const auto bins = static_cast<double>(options.num_bins());
  const double width = (options.highest() - options.lowest()) / bins;
  const at::Tensor position =
      samples.scores.neg().add(options.highest()).div(width).clamp(0, bins);
  // NaN counts in the first bin, where it shows.
  const at::Tensor lower =
      position.detach().nan_to_num(0).floor().clamp_max(bins - 1).to(at::kLong);
  const at::Tensor upper_part = position.sub(lower);
  const at::Tensor lower_part = upper_part.neg().add(1);
  const at::Tensor none =
      at::zeros({options.num_bins() + 1}, samples.scores.options());
  const auto histogram = [&](const at::Tensor& weight) {
    return none.index_add(0, lower, lower_part.mul(weight))
        .index_add(0, lower.add(1), upper_part.mul(weight));
  };
  return at::stack({histogram(samples.positive.to(at::kDouble)),
                    histogram(at::ones_like(samples.scores.detach()))});
}

}  // namespace

namespace functional {

at::Tensor smooth_ap_loss(const at::Tensor& preds, const at::Tensor& target,
                          const SmoothAPLossOptions& options) {
  const internal::AutocastOff as_written;
  const char* const name = SmoothAPLossImpl::kName;
  const Call call = internal::call_of(name, options);
  ScoredLabels own;
  const internal::LabelAgreement ranks = internal::agree_on_labels(
      call,
      [&] {
        check(options);
        return internal::scored_labels(name, preds, target);
      },
      own);
  if (ranks.positives.total() == 0) {
    return internal::loss_without_pairs(call, own);
  }
  return sync::or_give_up(*call.communicator, [&] {
    return smooth_ap(call, options.temperature(), ranks, own);
  });
}

at::Tensor fast_ap_loss(const at::Tensor& preds, const at::Tensor& target,
                        const FastAPLossOptions& options) {
  const internal::AutocastOff as_written;
  const char* const name = FastAPLossImpl::kName;
  const Call call = internal::call_of(name, options);
  ScoredLabels samples;
  at::Tensor own;
  const at::Tensor all = sync::reduce(call, sync::Reduction::kSum, [&] {
    check(options);
    samples = internal::scored_labels(name, preds, target);
    own = histograms_of(options, samples);
    return own.detach();
  });
  const at::Tensor count = all[0].sum();
  if (count.item<double>() == 0) {
    return internal::loss_without_pairs(call, samples);
  }
  const at::Tensor sums = sync::replicated(call, own, all, call.size());
  const at::Tensor above = sums.cumsum(1);
  // Without samples so far, there are no positives in the bin either.
  const at::Tensor ranked =
      at::where(above[1].eq(0), at::ones_like(all[1]), above[1]);
  return sums[0].mul(above[0]).div(ranked).sum().div(count).neg().add(1).to(
      samples.result_dtype);
}

}  // namespace functional

SmoothAPLossImpl::SmoothAPLossImpl(SmoothAPLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor SmoothAPLossImpl::forward(const at::Tensor& preds,
                                     const at::Tensor& target) {
  return functional::smooth_ap_loss(preds, target, options());
}

FastAPLossImpl::FastAPLossImpl(FastAPLossOptions options)
    : LossModule(std::move(options)) {
  check(this->options());
}

at::Tensor FastAPLossImpl::forward(const at::Tensor& preds,
                                   const at::Tensor& target) {
  return functional::fast_ap_loss(preds, target, options());
}

}  // namespace tally::losses

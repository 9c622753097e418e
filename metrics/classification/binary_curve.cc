#include "tally/metrics/classification/binary_curve.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "tally/metrics/checks.h"
#include "tally/metrics/classification/classification_checks.h"

namespace tally {
namespace {

at::Tensor flat(const at::Tensor& tensor) {
  return tensor.dim() <= 1 ? tensor : tensor.reshape(-1);
}

}  // namespace

BinaryCurve::BinaryCurve(const Thresholds& thresholds, ScoreKind input,
                         std::optional<std::int64_t> ignore_index,
                         const MetricOptions& metric_options)
    : grid_(thresholds),
      input_(input),
      ignore_index_(ignore_index),
      nan_policy_(metric_options.nan_policy()),
      validate_args_(metric_options.validate_args()) {}

BinaryCurve::State BinaryCurve::observe(const at::Tensor& preds,
                                        const at::Tensor& target) const {
  internal::check_floating("preds", preds);
  internal::check_integral("target", target);
  internal::check_same_shape("preds", preds, "target", target);
  // No curve has a gradient.
  if (preds.requires_grad()) return observe(preds.detach(), target);
  if (!internal::is_plain(preds) || !internal::is_plain(target)) {
    return observe_tensors(preds, target);
  }
  return internal::visit_labels(target, [&](const auto* labels) {
    switch (preds.scalar_type()) {
      case at::kFloat:
        return observe_plain(preds, target, preds.const_data_ptr<float>(),
                             labels);
      case at::kDouble:
        return observe_plain(preds, target, preds.const_data_ptr<double>(),
                             labels);
      default:
        return observe_tensors(preds, target);
    }
  });
}

template <class Score, class Label>
bool BinaryCurve::counts(Score score, Label label,
                         std::int64_t position) const {
  if (ignore_index_ && label == *ignore_index_) return false;
  if (label != 0 && label != 1) {
    internal::refuse_label(label, position, 2, ignore_index_);
  }
  if (nan_policy_ != NanPolicy::kPropagate && std::isnan(score)) {
    if (nan_policy_ == NanPolicy::kIgnore) return false;
    internal::refuse_nan("preds", position);
  }
  return true;
}

template <class Label>
bool BinaryCurve::all_count(const Label* labels, std::int64_t count) const {
  if (ignore_index_ || nan_policy_ != NanPolicy::kPropagate) return false;
  Label bits = 0;
  for (std::int64_t i = 0; i < count; ++i) bits |= labels[i];
  return bits == (bits & 1);
}

// The bucket of a score that is not in [0, 1].
std::int64_t BinaryCurve::bucket_outside(double score,
                                         std::int64_t position) const {
  if (std::isnan(score)) return grid_.size() + 1;
  if (validate_args_) internal::refuse_probability(score, position);
  return grid_.bucket(score);
}

template <class Score, class Label>
BinaryCurve::State BinaryCurve::observe_plain(const at::Tensor& preds,
                                              const at::Tensor& target,
                                              const Score* scores,
                                              const Label* labels) const {
  const std::int64_t count = preds.numel();
  const bool all_count_here = all_count(labels, count);
  State state;
  if (grid_.size() > 0) {
    state.histogram = internal::zero_counts({2, grid_.size() + 2});
    auto* const all = state.histogram.mutable_data_ptr<std::int64_t>();
    std::int64_t* const positives = all + grid_.size() + 2;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!all_count_here && !counts(scores[i], labels[i], i)) continue;
      double score = scores[i];
      if (input_ == ScoreKind::kLogits) score = 1 / (1 + std::exp(-score));
      const std::int64_t bucket = score >= 0 && score <= 1
                                      ? grid_.bucket(score)
                                      : bucket_outside(score, i);
      ++all[bucket];
      positives[bucket] += labels[i];
    }
    return state;
  }
  std::int64_t kept = all_count_here ? count : 0;
  if (!all_count_here) {
    for (std::int64_t i = 0; i < count; ++i) {
      kept += counts(scores[i], labels[i], i);
    }
  }
  if (kept == count) {
    state.preds = Rows(flat(preds));
    state.target = Rows(flat(target));
    return state;
  }
  const at::Tensor positions = at::empty({kept}, at::kLong);
  auto* next = positions.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    if (counts(scores[i], labels[i], i)) *next++ = i;
  }
  state.preds = Rows(preds.reshape(-1).index_select(0, positions));
  state.target = Rows(target.reshape(-1).index_select(0, positions));
  return state;
}

BinaryCurve::State BinaryCurve::observe_tensors(
    const at::Tensor& preds, const at::Tensor& target) const {
  if (validate_args_) internal::check_labels(target, 2, ignore_index_);
  at::Tensor kept;
  if (ignore_index_) kept = target.ne(*ignore_index_);
  if (nan_policy_ != NanPolicy::kPropagate) {
    at::Tensor nan = preds.isnan();
    if (kept.defined()) nan.logical_and_(kept);
    if (nan_policy_ == NanPolicy::kError) {
      if (const auto i = internal::first_true(nan)) {
        internal::refuse_nan("preds", *i);
      }
    } else {
      kept = kept.defined() ? kept.logical_and_(nan.logical_not_())
                            : nan.logical_not_();
    }
  }
  State state;
  if (grid_.size() > 0) {
    state.histogram = histogram_of(preds, target, kept);
  } else if (kept.defined()) {
    state.preds = Rows(preds.masked_select(kept));
    state.target = Rows(target.masked_select(kept));
  } else {
    state.preds = Rows(flat(preds));
    state.target = Rows(flat(target));
  }
  return state;
}

at::Tensor BinaryCurve::histogram_of(const at::Tensor& preds,
                                     const at::Tensor& target,
                                     const at::Tensor& kept) const {
  at::Tensor scores = preds.to(at::kDouble);
  if (input_ == ScoreKind::kLogits) scores = scores.sigmoid();
  if (validate_args_) {
    at::Tensor outside = scores.lt(0).logical_or_(scores.gt(1));
    if (kept.defined()) outside.logical_and_(kept);
    if (const auto i = internal::first_true(outside)) {
      internal::refuse_probability(
          scores.reshape(-1).select(0, *i).item().toDouble(), *i);
    }
  }
  const at::Tensor bucket = grid_.bucket(scores)
                                .masked_fill_(scores.isnan(), grid_.size() + 1)
                                .reshape(-1);
  const auto options =
      at::TensorOptions().dtype(at::kLong).device(preds.device());
  const at::Tensor weight = kept.defined()
                                ? kept.to(at::kLong).reshape(-1)
                                : at::ones({bucket.numel()}, options);
  const at::Tensor histogram = at::zeros({2, grid_.size() + 2}, options);
  histogram.select(0, 0).scatter_add_(0, bucket, weight);
  histogram.select(0, 1).scatter_add_(0, bucket,
                                      weight.mul(target.eq(1).reshape(-1)));
  return histogram;
}

namespace internal {

std::optional<ScoreCounts> score_counts(const BinaryCurve::State& state) {
  if (state.histogram.defined()) {
    check_state(state.histogram.dim() == 2 && state.histogram.size(0) == 2 &&
                state.histogram.size(1) > 0 &&
                state.histogram.scalar_type() == at::kLong);
    return BucketedScores::of(
        state.histogram.is_cpu() ? state.histogram : state.histogram.cpu(), 0);
  }
  check_state(state.preds.size() == state.target.size());
  if (!state.preds.defined()) return std::nullopt;
  const at::Tensor preds = state.preds.tensor().contiguous();
  const at::Tensor target = state.target.tensor().contiguous();
  check_state(preds.dim() == 1 && target.dim() == 1);
  const auto rank = [&](auto key, const auto* scores) {
    return visit_labels(
        target, [&](const auto* labels) -> std::optional<ScoreCounts> {
          return RankedScores<decltype(key)>::of(
              preds.numel(), [&](std::int64_t i) { return scores[i]; },
              [&](std::int64_t i) { return labels[i] == 1; });
        });
  };
  if (preds.is_cpu() && preds.scalar_type() == at::kFloat) {
    return rank(std::uint32_t{}, preds.const_data_ptr<float>());
  }
  if (preds.is_cpu() && preds.scalar_type() == at::kDouble) {
    return rank(std::uint64_t{}, preds.const_data_ptr<double>());
  }
  return DeviceRankedScores::of(preds, target.eq(1));
}

}  // namespace internal
}  // namespace tally

#include "tally/metrics/classification/multiclass_log_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/metrics/checks.h"
#include "tally/metrics/classification/classification_checks.h"

namespace tally {
namespace {

double epsilon_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kHalf:
      return std::numeric_limits<at::Half>::epsilon();
    case at::kBFloat16:
      return std::numeric_limits<at::BFloat16>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

// NaN if a logit is NaN or +infinity.
template <class Score>
double logit_loss(const Score* logits, std::int64_t classes,
                  std::int64_t stride, std::int64_t label) {
  double max = logits[0];
  for (std::int64_t c = 1; c < classes; ++c) {
    max = std::max<double>(max, logits[c * stride]);
  }
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    sum += std::exp(logits[c * stride] - max);
  }
  return std::log(sum) + (max - logits[label * stride]);
}

}  // namespace

void MulticlassLogLossOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(num_classes_ >= 2, metric,
                    ": expected num_classes to be at least 2, got ",
                    num_classes_);
}

MulticlassNegativeLogLikelihood::MulticlassNegativeLogLikelihood(
    const Options& options, const MetricOptions& metric_options)
    : num_classes_(options.num_classes()),
      input_(options.input()),
      ignore_index_(options.ignore_index()),
      nan_policy_(metric_options.nan_policy()),
      validate_args_(metric_options.validate_args()) {}

MulticlassNegativeLogLikelihood::State MulticlassNegativeLogLikelihood::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  internal::check_class_scores(preds, target, num_classes_);
  if (weight.defined()) {
    internal::check_real("weight", weight);
    internal::check_same_shape("weight", weight, "target", target);
  }
  if (!internal::is_plain(preds) || !internal::is_plain(target) ||
      (weight.defined() && !internal::is_plain(weight))) {
    return observe_tensors(preds, target, weight);
  }
  return internal::visit_labels(target, [&](const auto* labels) {
    switch (preds.scalar_type()) {
      case at::kFloat:
        return observe_plain(preds, preds.const_data_ptr<float>(), labels,
                             weight);
      case at::kDouble:
        return observe_plain(preds, preds.const_data_ptr<double>(), labels,
                             weight);
      default:
        return observe_tensors(preds, target, weight);
    }
  });
}

template <class Score, class Label>
MulticlassNegativeLogLikelihood::State
MulticlassNegativeLogLikelihood::observe_plain(const at::Tensor& preds,
                                               const Score* scores,
                                               const Label* labels,
                                               const at::Tensor& weight) const {
  const double eps = std::numeric_limits<Score>::epsilon();
  const std::int64_t samples = preds.size(0);
  const std::int64_t row =
      num_classes_ * samples == 0 ? 0 : preds.numel() / samples;
  const std::int64_t positions = row / num_classes_;
  const at::Tensor wide = weight.defined() ? weight.to(at::kDouble) : weight;
  const double* const weights =
      wide.defined() ? wide.const_data_ptr<double>() : nullptr;
  double sum = 0;
  double total = 0;
  for (std::int64_t i = 0; i < samples * positions; ++i) {
    const auto label = static_cast<std::int64_t>(labels[i]);
    if (label == ignore_index_) continue;
    if (label < 0 || label >= num_classes_) {
      internal::refuse_label(label, i, num_classes_, ignore_index_);
    }
    const Score* const own = scores + i / positions * row + i % positions;
    double loss;
    if (input_ == ScoreKind::kLogits) {
      loss = logit_loss(own, num_classes_, positions, label);
    } else {
      const double p = own[label * positions];
      if (validate_args_ && (p < 0 || p > 1)) {
        internal::refuse_probability(p, i);
      }
      loss = -std::log(std::clamp(p, eps, 1 - eps));
    }
    const double w = weights ? weights[i] : 1;
    if (nan_policy_ != NanPolicy::kPropagate &&
        (std::isnan(loss) || std::isnan(w))) {
      if (nan_policy_ == NanPolicy::kIgnore) continue;
      internal::refuse_nan(std::isnan(w) ? "weight" : "preds", i);
    }
    sum += w * loss;
    total += w;
  }
  return {sum, total};
}

MulticlassNegativeLogLikelihood::State
MulticlassNegativeLogLikelihood::observe_tensors(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  if (validate_args_) {
    internal::check_labels(target, num_classes_, ignore_index_);
  }
  const at::Tensor labels = target.to(at::kLong);
  const at::Tensor drop = dropped(preds, labels, weight);
  const at::Tensor weights = weight.defined() ? weight.to(at::kDouble) : weight;
  if (!drop.defined()) {
    const at::Tensor loss = losses(preds, labels);
    if (!weights.defined()) return {Number(loss.sum()), loss.numel()};
    return {Number(loss.mul(weights).sum()), Number(weights.sum())};
  }
  // What does not count is replaced before it is computed with: a NaN there
  // would come back in the gradient, even times 0.
  const at::Tensor loss = losses(preds.masked_fill(drop.unsqueeze(1), 0),
                                 labels.masked_fill(drop, 0));
  const at::Tensor kept = weights.defined()
                              ? weights.masked_fill(drop, 0)
                              : drop.logical_not().to(at::kDouble);
  return {Number(loss.mul(kept).sum()), Number(kept.sum())};
}

// The positions that do not count; undefined if all count. Throws for a NaN
// where that is an error.
at::Tensor MulticlassNegativeLogLikelihood::dropped(
    const at::Tensor& preds, const at::Tensor& labels,
    const at::Tensor& weight) const {
  at::Tensor ignored;
  if (ignore_index_) ignored = labels.eq(*ignore_index_);
  if (nan_policy_ == NanPolicy::kPropagate) return ignored;
  const at::Tensor scores = preds.detach();
  const at::Tensor safe =
      ignored.defined() ? labels.masked_fill(ignored, 0) : labels;
  at::Tensor nan = input_ == ScoreKind::kLogits
                       ? scores.amax(1).isfinite().logical_not_()
                       : scores.gather(1, safe.unsqueeze(1)).squeeze(1).isnan();
  const auto refuse = [&](const char* input, at::Tensor mask) {
    if (nan_policy_ != NanPolicy::kError) return;
    if (ignored.defined()) mask = mask.logical_and(ignored.logical_not());
    if (const auto i = internal::first_true(mask)) {
      internal::refuse_nan(input, *i);
    }
  };
  refuse("preds", nan);
  if (weight.defined()) {
    const at::Tensor nan_weight = weight.detach().isnan();
    refuse("weight", nan_weight);
    nan.logical_or_(nan_weight);
  }
  return ignored.defined() ? nan.logical_or_(ignored) : nan;
}

at::Tensor MulticlassNegativeLogLikelihood::losses(
    const at::Tensor& preds, const at::Tensor& labels) const {
  const at::Tensor index = labels.unsqueeze(1);
  if (input_ == ScoreKind::kLogits) {
    return preds.log_softmax(1, at::kDouble).gather(1, index).squeeze(1).neg();
  }
  const at::Tensor p = preds.gather(1, index).squeeze(1).to(at::kDouble);
  if (validate_args_) {
    const at::Tensor values = p.detach();
    if (const auto i =
            internal::first_true(values.lt(0).logical_or_(values.gt(1)))) {
      internal::refuse_probability(
          values.reshape(-1).select(0, *i).item().toDouble(), *i);
    }
  }
  const double eps = epsilon_of(preds.scalar_type());
  return p.clamp(eps, 1 - eps).log().neg();
}

at::Tensor MulticlassLogLoss::evaluate(const State& state) const {
  return options().normalize() ? state.sum / state.weight : state.sum;
}

}  // namespace tally

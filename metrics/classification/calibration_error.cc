#include "tally/metrics/classification/calibration_error.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tally/metrics/classification/count_kernels.h"

namespace tally {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void check_bins(const char* metric, std::int64_t n_bins) {
  TORCH_CHECK_VALUE(n_bins >= 1, metric, ": expected n_bins of at least 1, ",
                    "got ", n_bins);
}

// Takes confidences one by one.
class BinSums {
 public:
  BinSums(std::int64_t n_bins, const at::Tensor& weight, NanPolicy nan_policy)
      : n_bins_(n_bins),
        weights_(weight, nan_policy),
        bins_(at::zeros({3, n_bins}, at::kDouble)),
        data_(bins_.mutable_data_ptr<double>()) {}

  void add(double confidence, bool hit, std::int64_t index) {
    if (!weights_.takes(confidence, index)) return;
    const double weight = weights_[index];
    if (std::isnan(confidence) || std::isnan(weight)) {
      ++nans_;
      return;
    }
    const auto width = static_cast<double>(n_bins_);
    const auto bin = static_cast<std::int64_t>(
        std::clamp(confidence * width, 0.0, width - 1));
    data_[bin] += weight;
    data_[n_bins_ + bin] += weight * confidence;
    data_[2 * n_bins_ + bin] += hit ? weight : 0;
  }
  CalibrationBins result() const { return {bins_, nans_}; }

 private:
  std::int64_t n_bins_;
  internal::LossWeights weights_;
  at::Tensor bins_;
  double* data_;
  std::int64_t nans_ = 0;
};

// The same by tensor operations.
CalibrationBins sum_bins(std::int64_t n_bins, const at::Tensor& confidences,
                         const at::Tensor& hits, const at::Tensor& labels_kept,
                         const at::Tensor& weight, NanPolicy nan_policy) {
  at::Tensor kept = labels_kept;
  at::Tensor nan = confidences.isnan();
  if (nan_policy != NanPolicy::kPropagate) {
    kept = internal::without_nan(nan_policy, kept, nan, weight);
  }
  if (weight.defined()) nan = nan.logical_or(weight.isnan());
  nan = nan.logical_and(kept);
  const at::Tensor drop = nan.logical_or(kept.logical_not());
  const at::Tensor weights =
      internal::kept_weights(kept, weight).masked_fill(drop, 0).reshape(-1);
  const at::Tensor values = confidences.masked_fill(drop, 0).reshape(-1);
  const at::Tensor places =
      values.mul(n_bins).clamp(0, n_bins - 1).to(at::kLong);
  const auto binned = [&](const at::Tensor& amounts) {
    return at::zeros({n_bins}, amounts.options())
        .scatter_add(0, places, amounts);
  };
  return {at::stack({binned(weights), binned(weights.mul(values)),
                     binned(weights.mul(hits.reshape(-1)))}),
          Number(nan.sum())};
}

at::Tensor calibration(const CalibrationBins& state, CalibrationNorm norm) {
  at::Tensor result(at::detail::empty_cpu({}, at::kDouble));
  double& value = *result.mutable_data_ptr<double>();
  value = kNaN;
  if (!state.bins.defined() || state.nans.value() > 0) return result;
  const at::Tensor bins = state.bins.cpu();
  const std::int64_t n_bins = bins.size(1);
  const auto* const data = bins.const_data_ptr<double>();
  double total = 0;
  double sum = 0;
  double largest = 0;
  for (std::int64_t b = 0; b < n_bins; ++b) {
    const double weight = data[b];
    if (weight == 0) continue;
    const double gap =
        std::abs(data[n_bins + b] - data[2 * n_bins + b]) / weight;
    total += weight;
    sum += weight * (norm == CalibrationNorm::kL2 ? gap * gap : gap);
    largest = std::max(largest, gap);
  }
  if (total != 0) {
    value = norm == CalibrationNorm::kMax  ? largest
            : norm == CalibrationNorm::kL2 ? std::sqrt(sum / total)
                                           : sum / total;
  }
  return state.bins.is_cpu() ? result : result.to(state.bins.device());
}

struct TopScore {
  double confidence;
  std::int64_t label;
};

// NaN if a score is; of logits the softmax of the largest.
template <class Score>
TopScore top_score(const Score* scores, std::int64_t stride,
                   std::int64_t classes, bool logits) {
  if constexpr (std::is_same_v<Score, float>) {
    if (stride == 1 && classes >= internal::kLeastVectorClasses) {
      constexpr std::int64_t kNoTarget = -1;
      std::int64_t label;
      internal::predict_rows(scores, &kNoTarget, 1, classes, /*top_k=*/1,
                             &label);
      if (label == internal::kNanClass) return {kNaN, 0};
      const float best = scores[label];
      return {logits ? internal::softmax_of_largest(scores, classes, best)
                     : static_cast<double>(best),
              label};
    }
  }
  Score best = scores[0];
  std::int64_t label = 0;
  bool nan = best != best;
  for (std::int64_t c = 1; c < classes; ++c) {
    const Score score = scores[c * stride];
    nan |= score != score;
    if (score > best) {
      best = score;
      label = c;
    }
  }
  if (nan) return {kNaN, label};
  if (!logits) return {static_cast<double>(best), label};
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    sum += std::exp(static_cast<double>(scores[c * stride]) -
                    static_cast<double>(best));
  }
  return {1 / sum, label};
}

}  // namespace

void BinaryCalibrationErrorOptions::validate(const char* metric) const {
  check_bins(metric, n_bins_);
}

void MulticlassCalibrationErrorOptions::validate(const char* metric) const {
  internal::check_num_classes(metric, num_classes_);
  check_bins(metric, n_bins_);
}

BinaryCalibration::BinaryCalibration(const Options& options,
                                     const MetricOptions& metric_options)
    : n_bins_(options.n_bins()),
      rules_{0.5, options.input(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()} {}

BinaryCalibration::State BinaryCalibration::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  internal::check_binary_scores(preds, target);
  internal::check_loss_weight(weight, target);
  const bool logits = rules_.input == ScoreKind::kLogits;
  internal::BinaryRules all = rules_;
  all.nan_policy = NanPolicy::kPropagate;
  const at::Tensor scores = preds.detach();
  const internal::BinaryBatch batch(all, scores, target);
  if (internal::are_plain(scores, target, weight)) {
    BinSums sums(n_bins_, weight, rules_.nan_policy);
    internal::visit_elements(batch, [&](const auto* values,
                                        const auto* targets) {
      const std::int64_t size = batch.size();
      for (std::int64_t i = 0; i < size; ++i) {
        const auto label = static_cast<std::int64_t>(targets[i]);
        if (!batch.counts(values[i], label, i)) continue;
        const auto score = static_cast<double>(values[i]);
        sums.add(logits ? 1 / (1 + std::exp(-score)) : score, label == 1, i);
      }
    });
    return sums.result();
  }
  const internal::ElementTensors elements = internal::element_tensors(batch);
  const at::Tensor wide = scores.to(at::kDouble);
  return sum_bins(n_bins_, logits ? wide.sigmoid() : wide, elements.target,
                  elements.kept, weight, rules_.nan_policy);
}

MulticlassCalibration::MulticlassCalibration(
    const Options& options, const MetricOptions& metric_options)
    : n_bins_(options.n_bins()),
      input_(options.input()),
      rules_{options.num_classes(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()} {}

MulticlassCalibration::State MulticlassCalibration::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  internal::check_class_scores(preds, target, rules_.num_classes);
  internal::check_loss_weight(weight, target);
  const bool logits = input_ == ScoreKind::kLogits;
  const bool checks_range = !logits && rules_.validate_args;
  const at::Tensor scores = preds.detach();
  if (internal::are_plain(scores, target, weight)) {
    BinSums sums(n_bins_, weight, rules_.nan_policy);
    internal::for_each_class_loss(
        rules_, scores, target,
        [&](const auto* own, std::int64_t stride, std::int64_t label,
            std::int64_t index) {
          const TopScore top =
              top_score(own, stride, rules_.num_classes, logits);
          if (checks_range && (top.confidence < 0 || top.confidence > 1)) {
            internal::refuse_probability(top.confidence, index);
          }
          sums.add(top.confidence, top.label == label, index);
        });
    return sums.result();
  }
  const at::Tensor kept = internal::kept_labels(rules_, target);
  const auto [best, predicted] = scores.max(1);
  at::Tensor confidence = best.to(at::kDouble);
  if (logits) {
    confidence =
        scores.to(at::kDouble).sub(confidence.unsqueeze(1)).exp().sum(1);
    confidence = confidence.reciprocal();
  }
  confidence = confidence.masked_fill(kept.logical_not(), 0);
  if (checks_range) internal::check_probabilities(confidence);
  const at::Tensor nan = scores.isnan().any(1);
  return sum_bins(n_bins_, confidence.masked_fill(nan, kNaN),
                  predicted.eq(target), kept, weight, rules_.nan_policy);
}

at::Tensor BinaryCalibrationError::evaluate(const State& state) const {
  return calibration(state, options().norm());
}

at::Tensor MulticlassCalibrationError::evaluate(const State& state) const {
  return calibration(state, options().norm());
}

}  // namespace tally

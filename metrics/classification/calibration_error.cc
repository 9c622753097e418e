#include "tally/metrics/classification/calibration_error.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/classification/inputs/logit_tensors.h"
#include "tally/metrics/classification/kernels/calibration_kernels.h"
#include "tally/metrics/classification/kernels/score_kernels.h"
#include "tally/metrics/classification/pointwise/bin_sums.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/logit_kernels.h"
#include "tally/state/fresh_tensor.h"

namespace tally {

namespace classification = internal::classification;

namespace {

// So many probabilities of a binary metric are made together.
constexpr std::int64_t kBlock = 1024;

void check_bins(const char* metric, std::int64_t n_bins) {
  TORCH_CHECK_VALUE(n_bins >= 1, metric, ": expected n_bins of at least 1, ",
                    "got ", n_bins);
}

// What sum_parts() sums, by tensor operations.
template <class Sums>
CalibrationBins sum_bins(std::int64_t n_bins, const at::Tensor& confidences,
                         const at::Tensor& hits, const at::Tensor& labels_kept,
                         const at::Tensor& weight, NanPolicy nan_policy) {
  at::Tensor kept = labels_kept;
  at::Tensor nan = confidences.isnan();
  if (nan_policy != NanPolicy::kPropagate) {
    kept = classification::without_nan(nan_policy, kept, nan, weight);
  }
  if (weight.defined()) nan = nan.logical_or(weight.isnan());
  nan = nan.logical_and(kept);
  const at::Tensor drop = nan.logical_or(kept.logical_not());
  const at::Tensor weights = classification::kept_weights(kept, weight)
                                 .masked_fill(drop, 0)
                                 .reshape(-1);
  const at::Tensor values = confidences.masked_fill(drop, 0).reshape(-1);
  const at::Tensor places =
      values.mul(n_bins).clamp(0, n_bins - 1).to(at::kLong);
  const auto binned = [&](const at::Tensor& amounts) {
    return at::zeros({n_bins}, amounts.options())
        .scatter_add(0, places, amounts);
  };
  const at::Tensor own_hits = hits.reshape(-1);
  std::vector<at::Tensor> rows = {binned(weights), binned(weights.mul(values)),
                                  binned(weights.mul(own_hits))};
  if constexpr (std::is_same_v<Sums, classification::GapSums>) {
    const at::Tensor gaps = weights.mul(own_hits.sub(values));
    rows.push_back(binned(weights.square()));
    rows.push_back(binned(gaps));
    rows.push_back(binned(gaps.square()));
  }
  return {at::stack(rows), Number(nan.sum())};
}

at::Tensor calibration(const CalibrationBins& state, CalibrationNorm norm) {
  at::Tensor result = internal::fresh_tensor({}, at::kDouble);
  double& value = *result.mutable_data_ptr<double>();
  value = internal::kNaN;
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

// Takes what GapSums has more out of a batch's bins.
at::Tensor taken_gaps(CalibrationBins& bins) {
  const at::Tensor rows = bins.bins;
  bins.bins = rows.narrow(0, 0, classification::BinSums::kRows).clone();
  return at::stack({rows[0], rows[3], rows[4], rows[5]});
}

// For intervals of norm l2.
template <class Observer>
std::optional<GapSampling> gap_sampling(CalibrationNorm norm,
                                        Observer observer) {
  if (norm != CalibrationNorm::kL2) return std::nullopt;
  return GapSampling{[observer = std::move(observer)](Inputs inputs) {
    const bool has_weight = inputs.size() > 2 && !inputs[2].is_none();
    return observer.observe_gaps(
        *inputs[0].as<at::Tensor>(), *inputs[1].as<at::Tensor>(),
        has_weight ? *inputs[2].as<at::Tensor>() : at::Tensor());
  }};
}

// Adds elements of a binary batch; with `plain`, all of a block at once where
// their targets are 0 or 1.
template <class Sums, class Score, class Label>
void add_elements(const classification::BinaryBatch& batch, const Score* scores,
                  const Label* labels, std::int64_t begin, std::int64_t end,
                  bool plain, Sums& sums) {
  constexpr bool kHasBlocks = std::is_same_v<Sums, classification::BinSums>;
  const bool logits = batch.rules().input == ScoreKind::kLogits;
  std::array<double, kBlock> confidences;
  [[maybe_unused]] std::array<std::uint8_t, kBlock> hits;
  for (std::int64_t first = begin; first < end; first += kBlock) {
    const std::int64_t size = std::min(kBlock, end - first);
    for (std::int64_t i = 0; i < size; ++i) {
      confidences[i] = static_cast<double>(scores[first + i]);
    }
    if (logits) {
      classification::sigmoids(confidences.data(), size, confidences.data());
    }
    if constexpr (kHasBlocks) {
      if (plain && size == kBlock &&
          classification::narrow_labels(labels + first, size, hits.data()) &&
          sums.add_block(confidences.data(), hits.data(), size)) {
        continue;
      }
    }
    for (std::int64_t i = first; i < first + size; ++i) {
      const auto label = static_cast<std::int64_t>(labels[i]);
      if (!batch.takes(scores[i], label, i)) continue;
      sums.add(confidences[i - first], label == 1, i);
    }
  }
  if constexpr (kHasBlocks) sums.finish();
}

// Calls visit(scores, label, index) for the scores of each of some positions
// whose target counts.
template <class Score, class Label, class Visit>
void visit_positions(const classification::ClassLossRules& rules,
                     const Score* scores, const Label* labels,
                     std::int64_t positions, std::int64_t begin,
                     std::int64_t end, const Visit& visit) {
  const std::int64_t classes = rules.num_classes;
  std::vector<Score> row(positions > 1 ? classes : 0);
  for (std::int64_t i = begin; i < end; ++i) {
    const auto label = static_cast<std::int64_t>(labels[i]);
    if (label == rules.ignore_index) continue;
    if (label < 0 || label >= classes) {
      classification::refuse_label(label, i, classes, rules.ignore_index);
    }
    const Score* own =
        scores + i / positions * classes * positions + i % positions;
    if (positions > 1) {
      for (std::int64_t c = 0; c < classes; ++c) row[c] = own[c * positions];
      own = row.data();
    }
    visit(own, label, i);
  }
}

// Gives the confidence of logits, which is right to 1e-14 but rounded as on no
// other processor, the same bits on all where they may decide on the bin.
template <class Score>
void settle(const Score* logits, std::int64_t classes, double n_bins,
            double& confidence) {
  const double place = confidence * n_bins;
  const double edge = std::round(place);
  if (edge >= n_bins || !(std::abs(place - edge) <= 1e-12 * place)) return;
  classification::LogSoftmaxTerms terms;
  classification::log_softmax_terms(logits, 1, classes, &terms);
  confidence = terms(terms.max);
  classification::exps(&confidence, 1, &confidence);
}

}  // namespace

void BinaryCalibrationErrorOptions::validate(const char* metric) const {
  check_bins(metric, n_bins_);
  classification::check_probability_kind(metric, input_);
}

void MulticlassCalibrationErrorOptions::validate(const char* metric) const {
  classification::check_num_classes(metric, num_classes_);
  check_bins(metric, n_bins_);
  classification::check_probability_kind(metric, input_);
}

BinaryCalibration::BinaryCalibration(const Options& options,
                                     const MetricOptions& metric_options)
    : n_bins_(options.n_bins()),
      rules_{0.5, options.input(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()} {}

template <class Sums>
CalibrationBins BinaryCalibration::sum(const at::Tensor& preds,
                                       const at::Tensor& target,
                                       const at::Tensor& weight) const {
  classification::check_binary_scores(preds, target);
  classification::check_loss_weight(weight, target);
  const bool logits = rules_.input == ScoreKind::kLogits;
  classification::BinaryRules all = rules_;
  all.nan_policy = NanPolicy::kPropagate;
  const at::Tensor scores = preds.detach();
  const classification::BinaryBatch batch(all, scores, target);
  if (classification::are_plain(scores, target, weight)) {
    const classification::LossWeights weights(weight, rules_.nan_policy);
    const bool plain = !weight.defined() &&
                       n_bins_ <= classification::kManyBins &&
                       (!rules_.ignore_index || *rules_.ignore_index < 0 ||
                        *rules_.ignore_index > 1);
    return classification::visit_elements(
        batch, [&](const auto* values, const auto* targets) {
          return classification::sum_parts<Sums>(
              n_bins_, batch.size(), 1, weights,
              [&](std::int64_t begin, std::int64_t end, Sums& sums) {
                add_elements(batch, values, targets, begin, end, plain, sums);
              });
        });
  }
  const classification::ElementTensors elements =
      classification::element_tensors(batch);
  return sum_bins<Sums>(
      n_bins_,
      logits ? classification::sigmoids(scores) : scores.to(at::kDouble),
      elements.target, elements.kept, weight, rules_.nan_policy);
}

BinaryCalibration::State BinaryCalibration::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  return sum<classification::BinSums>(preds, target, weight);
}

GapSampling::Batch BinaryCalibration::observe_gaps(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  State state = sum<classification::GapSums>(preds, target, weight);
  at::Tensor gaps = taken_gaps(state);
  return {AnyState::of(std::move(state)), std::move(gaps)};
}

MulticlassCalibration::MulticlassCalibration(
    const Options& options, const MetricOptions& metric_options)
    : n_bins_(options.n_bins()),
      input_(options.input()),
      rules_{options.num_classes(), options.ignore_index(),
             metric_options.nan_policy(), metric_options.validate_args()} {}

template <class Sums>
MulticlassCalibration::State MulticlassCalibration::sum(
    const at::Tensor& preds, const at::Tensor& given_target,
    const at::Tensor& weight) const {
  classification::check_class_scores(preds, given_target, rules_.num_classes);
  classification::check_loss_weight(weight, given_target);
  const auto whole =
      classification::whole_target(given_target, rules_.validate_args);
  const at::Tensor& target = *whole;
  const bool logits = input_ == ScoreKind::kLogits;
  const bool checks_range = !logits && rules_.validate_args;
  const at::Tensor scores = preds.detach();
  // The confidence alone counts: the others need not add up to 1.
  const classification::ProbabilityRows row_sums(preds,
                                                 /*are_distributions=*/false);
  State state;
  state.unnormalized.add_rows(preds.size(0));
  if (classification::are_plain(scores, target, weight)) {
    const classification::LossWeights weights(weight, rules_.nan_policy);
    const at::Tensor wide =
        scores.scalar_type() == at::kDouble ? scores : scores.to(at::kFloat);
    const std::int64_t positions =
        target.numel() == 0 ? 1 : target.numel() / target.size(0);
    // A row of several positions may be that of several threads.
    const bool checks_rows = checks_range && positions == 1;
    std::mutex mutex;
    const auto sum_all = [&](const auto* data, const auto* labels) {
      return classification::sum_parts<Sums>(
          n_bins_, target.numel(), rules_.num_classes, weights,
          [&](std::int64_t begin, std::int64_t end, Sums& sums) {
            Note marks(classification::kUnnormalized);
            visit_positions(
                rules_, data, labels, positions, begin, end,
                [&](const auto* own, std::int64_t label, std::int64_t index) {
                  classification::TopScore top = classification::top_score(
                      own, rules_.num_classes, label, logits);
                  if (logits) {
                    settle(own, rules_.num_classes, n_bins_, top.confidence);
                  }
                  if (checks_rows) {
                    row_sums.check(own, 1, index, marks);
                  }
                  sums.add(top.confidence, top.hit, index);
                });
            const std::lock_guard<std::mutex> lock(mutex);
            state.unnormalized.add_marks(marks);
          });
    };
    state.sums = classification::visit_labels(target, [&](const auto* labels) {
      return wide.scalar_type() == at::kDouble
                 ? sum_all(wide.const_data_ptr<double>(), labels)
                 : sum_all(wide.const_data_ptr<float>(), labels);
    });
    if (checks_range && !checks_rows) {
      classification::check_rows(rules_, row_sums, wide, target,
                                 state.unnormalized);
    }
    return state;
  }
  const at::Tensor kept = classification::kept_labels(rules_, target);
  const auto [best, predicted] = scores.max(1);
  at::Tensor confidence = best.to(at::kDouble);
  if (logits) {
    const at::Tensor rows =
        scores.movedim(1, -1).reshape({-1, rules_.num_classes});
    confidence =
        classification::exps(classification::log_softmaxes(rows).amax(1))
            .reshape(target.sizes());
  }
  confidence = confidence.masked_fill(kept.logical_not(), 0);
  if (checks_range && scores.is_cpu()) {
    classification::check_rows(rules_, row_sums, scores, target,
                               state.unnormalized);
  } else if (checks_range) {
    classification::check_probabilities(confidence);
  }
  const at::Tensor nan = scores.isnan().any(1);
  state.sums =
      sum_bins<Sums>(n_bins_, confidence.masked_fill(nan, internal::kNaN),
                     predicted.eq(target), kept, weight, rules_.nan_policy);
  return state;
}

MulticlassCalibration::State MulticlassCalibration::observe(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  return sum<classification::BinSums>(preds, target, weight);
}

GapSampling::Batch MulticlassCalibration::observe_gaps(
    const at::Tensor& preds, const at::Tensor& target,
    const at::Tensor& weight) const {
  State state = sum<classification::GapSums>(preds, target, weight);
  at::Tensor gaps = taken_gaps(state.sums);
  return {AnyState::of(std::move(state)), std::move(gaps)};
}

at::Tensor BinaryCalibrationError::evaluate(const State& state) const {
  return calibration(state, options().norm());
}

at::Tensor MulticlassCalibrationError::evaluate(const State& state) const {
  return calibration(state.sums, options().norm());
}

MetricSampling BinaryCalibrationError::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  sampling.gaps = gap_sampling(options().norm(),
                               BinaryCalibration(options(), metric_options()));
  return sampling;
}

MetricSampling MulticlassCalibrationError::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  sampling.gaps = gap_sampling(
      options().norm(), MulticlassCalibration(options(), metric_options()));
  return sampling;
}

template class MetricOf<BinaryCalibrationError, BinaryCalibration, at::Tensor>;
template class MetricOf<MulticlassCalibrationError, MulticlassCalibration,
                        at::Tensor>;

}  // namespace tally

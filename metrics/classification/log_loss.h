#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/average.h"
#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/pointwise/score_loss_options.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of MulticlassLogLoss.
///
/// Example:
///     MulticlassLogLoss loss(
///         MulticlassLogLossOptions(10).input(ScoreKind::kLogits));
struct MulticlassLogLossOptions
    : internal::classification::MulticlassLossOptions<
          MulticlassLogLossOptions> {
  using MulticlassLossOptions::MulticlassLossOptions;

  /// If true, the weighted mean over the positions; if false, the weighted sum.
  TALLY_INHERITED_ARG(MulticlassLogLossOptions, bool, normalize) = true;

 public:
  void visit(OptionVisitor& v) {
    MulticlassLossOptions::visit(v);
    v("normalize", normalize_, OptionRole::kValue, internal::words::kMeanOrSum);
  }
};

/// Options of BinaryLogLoss.
///
/// Example:
///     BinaryLogLoss loss(BinaryLogLossOptions().input(ScoreKind::kLogits));
struct BinaryLogLossOptions
    : internal::classification::BinaryLossOptions<BinaryLogLossOptions> {
  /// If true, the weighted mean over the positions; if false, the weighted sum.
  TALLY_INHERITED_ARG(BinaryLogLossOptions, bool, normalize) = true;

 public:
  void visit(OptionVisitor& v) {
    BinaryLossOptions::visit(v);
    v("normalize", normalize_, OptionRole::kValue, internal::words::kMeanOrSum);
  }
};

/// Options of MultilabelLogLoss.
///
/// Example:
///     MultilabelLogLoss loss(
///         MultilabelLogLossOptions(5).average(Average::kNone));
struct MultilabelLogLossOptions {
  /// The number of labels, at least 1.
  template <class Count, RequireCount<Count> = 0>
  MultilabelLogLossOptions(Count num_labels)
      : num_labels_(static_cast<std::int64_t>(num_labels)) {}
  explicit MultilabelLogLossOptions(internal::Unset) : num_labels_(0) {}

  /// The size of dimension 1 of preds and target.
  TORCH_ARG(std::int64_t, num_labels);
  /// The kind of scores in preds. Default: probabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kProbabilities;
  /// kMacro and kWeighted average over the labels with counted elements.
  TORCH_ARG(Average, average) = Average::kMacro;
  /// If true, the weighted mean over the elements; if false, the weighted sum.
  TORCH_ARG(bool, normalize) = true;
  /// Elements with this target are ignored. It need not be 0 or 1.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  /// input(ScoreKind::kLogits).
  auto& from_logits() { return input(ScoreKind::kLogits); }
  void visit(OptionVisitor& v) {
    v("num_labels", num_labels_, OptionRole::kSize,
      internal::words::kNumLabels);
    v.first<kProbabilityKinds>("input", input_, OptionRole::kState,
                               internal::words::kProbabilityInput);
    v.first<kClassAverages>("average", average_, OptionRole::kValue,
                            internal::words::kAverage);
    v("normalize", normalize_, OptionRole::kValue, internal::words::kMeanOrSum);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  Dimensions dimensions() const { return {Dimension::kClass}; }
  void validate(const char* metric) const;
};

/// The sums used by BinaryLogLoss.
class BinaryNegativeLogLikelihood
    : public internal::classification::BinaryLosses<BinaryLogLossOptions> {
 public:
  using BinaryLosses::BinaryLosses;
  static constexpr const char* kName = "BinaryNegativeLogLikelihood";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;
};

/// The sums used by MulticlassLogLoss.
class MulticlassNegativeLogLikelihood
    : public internal::classification::MulticlassLosses<
          MulticlassLogLossOptions> {
 public:
  using MulticlassLosses::MulticlassLosses;
  static constexpr const char* kName = "MulticlassNegativeLogLikelihood";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassScoreInputs;

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;
};

/// The sums used by MultilabelLogLoss.
class MultilabelNegativeLogLikelihood {
 public:
  static constexpr const char* kName = "MultilabelNegativeLogLikelihood";
  static constexpr const auto& kInputs =
      internal::classification::kMultilabelScoreInputs;
  using Options = MultilabelLogLossOptions;

  struct State {
    /// float64 [3, num_labels]: sums of the weighted losses, of the weights,
    /// and of the weights where the target is 1.
    at::Tensor sums;

    void fields(Fields& f) { f("sums", sums); }
  };

  MultilabelNegativeLogLikelihood(const Options& options,
                                  const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  std::int64_t num_labels_;
  internal::classification::BinaryRules rules_;
};

/// The mean negative log-likelihood of binary targets (binary cross-entropy).
///
///     loss_i = -log p_i where the target is 1, else -log (1 - p_i)
///     LogLoss = sum w_i loss_i / sum w_i
///
/// update(preds, target, weight = {}): probabilities of 1 or logits [N, ...],
/// floating point, 0 and 1 [N, ...] of any real dtype, weights [N, ...]
/// (default: 1). Result: 0-dim, in [0, inf), in nats.
///
/// Probabilities are clipped to [eps, 1 - eps] with the eps of their dtype.
/// Logits are passed through a log-sigmoid and not clipped.
///
/// State: the sums of w_i loss_i and of w_i (kSum). Before any update, or if
/// everything is ignored, the mean is NaN and the sum 0. A NaN in a score or
/// weight makes the result NaN; with kIgnore that position is ignored. A
/// probability outside [0, 1] is a c10::ValueError, a label other than 0 and 1
/// a c10::IndexError.
///
/// Differentiable in preds and weight; clipped probabilities have no gradient,
/// so train on logits. Source: log_loss of scikit-learn.
///
/// Example:
///     BinaryLogLoss loss(BinaryLogLossOptions().input(ScoreKind::kLogits));
///     loss.update(preds, target);
///     double nats = loss.compute().item<double>();
class BinaryLogLoss final
    : public MetricOf<BinaryLogLoss, BinaryNegativeLogLikelihood, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryLogLoss";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Mean negative log-likelihood of the targets.", "[0, inf)", "",
          "nll, cross-entropy, negative log-likelihood, logloss, bce",
          R"(-\frac{1}{N} \sum_n y_n \log p_n + (1 - y_n) \log(1 - p_n))"}
          .binary();
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The mean negative log-likelihood of the true classes (cross-entropy).
///
///     loss_i = -log p_i[target_i],  LogLoss = sum w_i loss_i / sum w_i
///
/// update(preds, target, weight = {}): probabilities or logits [N, C, ...],
/// floating point, classes [N, ...] of any real dtype, weights [N, ...]
/// (default: 1). Result: 0-dim, in [0, inf), in nats.
///
/// Probabilities are clipped to [eps, 1 - eps] with the eps of their dtype and
/// not renormalized. Logits are passed through a log-softmax and not clipped.
///
/// State: the sums of w_i loss_i and of w_i (kSum). Before any update, or if
/// everything is ignored, the mean is NaN and the sum 0. A NaN in a target's
/// probability or weight makes the result NaN, as does a row of logits with a
/// NaN or +infinity; with kIgnore that sample is ignored. With validate_args, a
/// probability outside [0, 1] is a c10::ValueError, as is a row whose sum
/// misses 1 by more than 0.05; one that misses it by more than 0.001 (0.01 for
/// bfloat16) gives a warning, `unnormalized`. On a GPU only the target's
/// probability is checked. An invalid class is a c10::IndexError.
///
/// Differentiable in preds and weight; clipped probabilities have no gradient,
/// so train on logits. Source: log_loss of scikit-learn.
///
/// Example:
///     MulticlassLogLoss loss(10);
///     loss.update(model->forward(batch.data).softmax(1), batch.target);
///     double nats = loss.compute().item<double>();
class MulticlassLogLoss final
    : public MetricOf<MulticlassLogLoss, MulticlassNegativeLogLikelihood,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MulticlassLogLoss";
  static constexpr MetricSummary kSummary =
      MetricSummary{"Mean negative log-likelihood of the targets.", "[0, inf)",
                    "",
                    "nll, cross-entropy, negative log-likelihood, logloss, bce",
                    R"(-\frac{1}{N} \sum_n \log p_{n, y_n})"}
          .multiclass();
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The mean negative log-likelihood of the labels (binary cross-entropy).
///
///     loss_il = -log p_il where the target is 1, else -log (1 - p_il)
///     per label l: sum_i w_i loss_il / sum_i w_i
///     micro: sum_il w_i loss_il / sum_il w_i; macro: the mean of the labels'
///
/// update(preds, target, weight = {}): probabilities of 1 or logits [N, L,
/// ...], floating point, 0 and 1 [N, L, ...] of any real dtype, weights [N,
/// ...] (default: 1). Result: 0-dim or, with Average::kNone, [L], in [0, inf),
/// in nats.
///
/// Scores are clipped as in BinaryLogLoss. State: per label the sums of w_i
/// loss_il, of w_i, and of w_i where the target is 1 (kSum). Without counted
/// elements the mean is NaN and the sum 0. A NaN in a score or weight makes the
/// result (of its label) NaN; with kIgnore that element is ignored. A
/// probability outside [0, 1] is a c10::ValueError, a label other than 0 and 1
/// a c10::IndexError.
///
/// Differentiable in preds and weight. Source: log_loss of scikit-learn, per
/// label.
///
/// Example:
///     MultilabelLogLoss loss(5);
///     loss.update(preds, target);
///     double nats = loss.compute().item<double>();
class MultilabelLogLoss final
    : public MetricOf<MultilabelLogLoss, MultilabelNegativeLogLikelihood,
                      at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MultilabelLogLoss";
  static constexpr MetricSummary kSummary =
      MetricSummary{
          "Mean negative log-likelihood of the labels.", "[0, inf)", "",
          "nll, cross-entropy, negative log-likelihood, logloss, bce",
          R"(-\frac{1}{N L} \sum_{n, l} y_{nl} \log p_{nl} + (1 - y_{nl}) \log(1 - p_{nl}))"}
          .multilabel();
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryLogLoss, BinaryNegativeLogLikelihood,
                               at::Tensor>;
extern template class MetricOf<MulticlassLogLoss,
                               MulticlassNegativeLogLikelihood, at::Tensor>;
extern template class MetricOf<MultilabelLogLoss,
                               MultilabelNegativeLogLikelihood, at::Tensor>;

}  // namespace tally

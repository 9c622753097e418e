#pragma once

#include "tally/metrics/classification/score_kind.h"
#include "tally/metrics/metric_of.h"

namespace tally {

/// Options of MulticlassLogLoss.
///
/// Example:
///     MulticlassLogLoss loss(
///         MulticlassLogLossOptions(10).input(ScoreKind::kLogits));
struct MulticlassLogLossOptions {
  /// The number of classes, at least 2.
  MulticlassLogLossOptions(std::int64_t num_classes = 0)
      : num_classes_(num_classes) {}

  /// Targets are 0 to num_classes - 1.
  TORCH_ARG(std::int64_t, num_classes);
  /// What preds are. Default: probabilities.
  TORCH_ARG(ScoreKind, input) = ScoreKind::kProbabilities;
  /// The weighted mean over the samples, else the weighted sum. Default: true.
  TORCH_ARG(bool, normalize) = true;
  /// Samples with this target do not count. It need not be a class.
  /// Default: none.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_);
    v("input", input_);
    v("normalize", normalize_, OptionRole::kValue);
    v("ignore_index", ignore_index_);
  }
  void validate(const char* metric) const;
};

/// The sums under MulticlassLogLoss.
class MulticlassNegativeLogLikelihood {
 public:
  static constexpr const char* kName = "MulticlassNegativeLogLikelihood";
  using Options = MulticlassLogLossOptions;

  struct State {
    Number sum;
    Number weight;
    void fields(Fields& f) { f("sum", sum)("weight", weight); }
  };

  MulticlassNegativeLogLikelihood(const Options& options,
                                  const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  template <class Score, class Label>
  State observe_plain(const at::Tensor& preds, const Score* scores,
                      const Label* labels, const at::Tensor& weight) const;
  State observe_tensors(const at::Tensor& preds, const at::Tensor& target,
                        const at::Tensor& weight) const;
  at::Tensor dropped(const at::Tensor& preds, const at::Tensor& labels,
                     const at::Tensor& weight) const;
  at::Tensor losses(const at::Tensor& preds, const at::Tensor& labels) const;

  std::int64_t num_classes_;
  ScoreKind input_;
  std::optional<std::int64_t> ignore_index_;
  NanPolicy nan_policy_;
  bool validate_args_;
};

/// The mean negative log-likelihood of the targets (cross-entropy).
///
///     loss_i = -log p_i[target_i],  LogLoss = sum w_i loss_i / sum w_i
///
/// update(preds, target, weight = {}): probabilities or logits [N, C, ...],
/// floating point, classes [N, ...] of an integer dtype, weights [N, ...]
/// (default: 1). Result: 0-dim, in [0, inf), in nats.
///
/// Probabilities are clipped to [eps, 1 - eps] with the eps of their dtype and
/// not renormalised. Logits go through a log-softmax and are not clipped.
///
/// State: the sums of w_i loss_i and of w_i (kSum). Before any update the mean
/// is NaN, as when all is ignored; the sum is 0. A NaN in a target's
/// probability or weight makes the result NaN, as does a row of logits with a
/// NaN or +infinity; with kIgnore that sample does not count. A target's
/// probability outside [0, 1] is a c10::ValueError, a target that is no class a
/// c10::IndexError.
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
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

}  // namespace tally

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <type_traits>

#include "tally/metrics/classification/options/score_threshold.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/score_kind.h"

/// Common parts of metrics over elements that are 0 or 1: input checks, and the
/// conversion of scores to predictions. Binary metrics have one element per
/// position, multilabel ones one per label.
namespace tally::internal::classification {

struct BinaryRules {
  double threshold = 0.5;
  ScoreKind input = ScoreKind::kProbabilities;
  std::optional<std::int64_t> ignore_index = std::nullopt;
  NanPolicy nan_policy = NanPolicy::kPropagate;
  bool validate_args = true;
  /// Whether the metric has ScoreKind::kScores, for messages.
  bool takes_scores = false;
};

/// c10::ValueError unless the threshold lies in [0, 1], or for scores of any
/// kind is a finite number that was given.
void check_threshold(const char* metric, const ScoreThreshold& threshold,
                     ScoreKind input);

/// c10::TypeError or c10::ValueError unless preds are floating-point scores and
/// target of a dtype for labels and of the same shape.
void check_binary_scores(const at::Tensor& preds, const at::Tensor& target);

/// check_binary_scores, and c10::ValueError unless they are [N, num_labels,
/// ...].
void check_multilabel_scores(const at::Tensor& preds, const at::Tensor& target,
                             std::int64_t num_labels);

/// Throws c10::ValueError unless there is at least one label.
void check_num_labels(const char* metric, std::int64_t num_labels);

/// Represents NaN in place of an element's prediction 0 or 1.
constexpr int kNanElement = 2;

/// The inputs of one update(), validated except for their values: contiguous,
/// viewed as [samples, labels, positions]. preds are scores (float or double)
/// or labels, target labels (int64, or bytes for bool and uint8).
class BinaryBatch {
 public:
  /// For a binary metric, with one label: preds and target [N, ...], weight
  /// (may be undefined) [N, ...]. Throws c10::TypeError or c10::ValueError for
  /// other inputs.
  BinaryBatch(const BinaryRules& rules, const at::Tensor& preds,
              const at::Tensor& target, const at::Tensor& weight = {});

  const BinaryRules& rules() const { return rules_; }
  bool has_scores() const { return has_scores_; }
  const at::Tensor& preds() const { return preds_; }
  const at::Tensor& target() const { return target_; }
  /// float64 [samples, positions], or undefined.
  const at::Tensor& weight() const { return weight_; }
  std::int64_t samples() const { return samples_; }
  std::int64_t labels() const { return labels_; }
  std::int64_t positions() const { return positions_; }
  std::int64_t size() const { return samples_ * labels_ * positions_; }
  /// Scores above it are predicted as 1: the option rounded to the scores'
  /// dtype; for logits, its logit.
  double threshold() const { return threshold_; }
  bool is_plain() const { return target_.is_cpu(); }

  /// For plain loops: whether the element is counted. Throws for invalid
  /// values.
  template <class Pred>
  bool takes(Pred pred, std::int64_t target, std::int64_t index) const {
    if (target == rules_.ignore_index) return false;
    if (target != 0 && target != 1) refuse_target(target, index);
    if constexpr (std::is_floating_point_v<Pred>) {
      if (pred != pred) return takes_nan(index);
      if (checks_range_ && !(pred >= 0 && pred <= 1)) {
        refuse_score(static_cast<double>(pred), index);
      }
    } else {
      if (pred != 0 && pred != 1) refuse_preds(pred, index);
    }
    return true;
  }
  /// 0, 1 or kNanElement.
  template <class Pred>
  int predicted(Pred pred) const {
    if constexpr (std::is_floating_point_v<Pred>) {
      return pred != pred ? kNanElement : pred > static_cast<Pred>(threshold_);
    } else {
      return pred != 0;
    }
  }
  /// The weight of a counted element, and whether it is counted with that
  /// weight. REQUIRES: weights, on the CPU.
  bool takes_weight(std::int64_t index, double& weight) const {
    const std::int64_t place =
        index / (labels_ * positions_) * positions_ + index % positions_;
    weight = weight_.const_data_ptr<double>()[place];
    return weight == weight || takes_nan_weight(place);
  }
  /// Whether scores must be probabilities.
  bool checks_range() const { return checks_range_; }

  [[noreturn]] void refuse_target(std::int64_t label, std::int64_t index) const;
  [[noreturn]] void refuse_preds(std::int64_t label, std::int64_t index) const;
  [[noreturn]] void refuse_score(double score, std::int64_t index) const;

 protected:
  struct Labels {
    std::int64_t count;
  };
  BinaryBatch(const BinaryRules& rules, Labels labels, const at::Tensor& preds,
              const at::Tensor& target, const at::Tensor& weight);

 private:
  void set_inputs(const at::Tensor& preds, const at::Tensor& given_target);
  void set_weight(const at::Tensor& weight, at::IntArrayRef sizes);
  bool takes_nan(std::int64_t index) const;
  bool takes_nan_weight(std::int64_t index) const;

  const BinaryRules& rules_;
  at::Tensor preds_;
  at::Tensor target_;
  at::Tensor weight_;
  std::int64_t samples_ = 0;
  std::int64_t labels_ = 1;
  std::int64_t positions_ = 1;
  double threshold_ = 0;
  bool has_scores_ = false;
  bool checks_range_ = false;
};

/// preds and target [N, num_labels, ...], weight (may be undefined) [N, ...].
class MultilabelBatch : public BinaryBatch {
 public:
  MultilabelBatch(const BinaryRules& rules, std::int64_t num_labels,
                  const at::Tensor& preds, const at::Tensor& target,
                  const at::Tensor& weight = {})
      : BinaryBatch(rules, Labels{num_labels}, preds, target, weight) {}
};

/// Calls visit(preds, target) with pointers to the batch's memory.
/// REQUIRES: a plain batch.
template <class Visit>
auto visit_elements(const BinaryBatch& batch, const Visit& visit) {
  const auto with_target = [&](const auto* preds) {
    if (batch.target().scalar_type() == at::kLong) {
      return visit(preds, batch.target().const_data_ptr<std::int64_t>());
    }
    return visit(preds, static_cast<const std::uint8_t*>(
                            batch.target().const_data_ptr()));
  };
  switch (batch.preds().scalar_type()) {
    case at::kFloat:
      return with_target(batch.preds().const_data_ptr<float>());
    case at::kDouble:
      return with_target(batch.preds().const_data_ptr<double>());
    case at::kLong:
      return with_target(batch.preds().const_data_ptr<std::int64_t>());
    default:
      return with_target(
          static_cast<const std::uint8_t*>(batch.preds().const_data_ptr()));
  }
}

/// Calls count(index, predicted, target) for every counted element, in order;
/// predicted is 0, 1 or kNanElement. REQUIRES: a plain batch.
template <class Count>
void for_each_element(const BinaryBatch& batch, const Count& count) {
  visit_elements(batch, [&](const auto* preds, const auto* targets) {
    const std::int64_t size = batch.size();
    for (std::int64_t i = 0; i < size; ++i) {
      const auto target = static_cast<std::int64_t>(targets[i]);
      if (!batch.takes(preds[i], target, i)) continue;
      count(i, batch.predicted(preds[i]), static_cast<int>(target));
    }
  });
}

/// The same with tensor operations, for any device: bool masks of the target's
/// shape. Counted elements with a NaN are in `nan` and in `kept`. Checks that
/// cost a pass are made only with validate_args; without it a label that is
/// neither 0 nor 1 is ignored on a GPU.
struct ElementTensors {
  at::Tensor predicted;
  at::Tensor target;
  at::Tensor kept;
  at::Tensor nan;
};
ElementTensors element_tensors(const BinaryBatch& batch);

}  // namespace tally::internal::classification

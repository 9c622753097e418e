#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tally/metrics/classification/inputs/binary_inputs.h"
#include "tally/metrics/classification/inputs/multiclass_inputs.h"
#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/block_sums.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/fields.h"

/// Weighted sums of a loss per position, for differentiable metrics: in one
/// loop over memory, or with tensor operations for gradients and other devices.
namespace tally::internal::classification {

/// The state of a weighted mean.
struct WeightedSum {
  Number sum;
  Number weight;
  void fields(Fields& f) { f("sum", sum)("weight", weight); }
};

/// Options for summing the losses of scores [N, C, ...].
struct ClassLossRules {
  std::int64_t num_classes;
  std::optional<std::int64_t> ignore_index;
  NanPolicy nan_policy;
  bool validate_args;
};

/// The largest logit of a position and the sum of exp(logit - max), which
/// determine its probabilities.
struct SoftmaxTerms {
  double max;
  double sum;
};
template <class Score>
SoftmaxTerms softmax_terms(const Score* logits, std::int64_t stride,
                           std::int64_t classes) {
  double max = logits[0];
  for (std::int64_t c = 1; c < classes; ++c) {
    max = std::max<double>(max, logits[c * stride]);
  }
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    sum += std::exp(logits[c * stride] - max);
  }
  return {max, sum};
}

/// The eps of a dtype of scores, to whose distance from 0 and 1 probabilities
/// are clipped where their logarithm is taken.
double epsilon_of(at::ScalarType dtype);

/// Throws unless weights are real numbers of the target's shape, or undefined.
void check_loss_weight(const at::Tensor& weight, const at::Tensor& target);

/// c10::ValueError for the first number of a tensor outside [0, 1].
void check_probabilities(const at::Tensor& tensor);

/// The same for scores [N, C, ...]; the position is that of the target.
void check_class_probabilities(const at::Tensor& scores);

/// Whether plain loops can be used: no graph needs to be recorded.
bool are_plain(const at::Tensor& preds, const at::Tensor& target,
               const at::Tensor& weight);

/// The weights of positions in a plain loop, under a NaN policy.
class LossWeights {
 public:
  LossWeights(const at::Tensor& weight, NanPolicy nan_policy)
      : weights_(weight.defined() ? dense(weight.to(at::kDouble)) : weight),
        data_(weight.defined() ? weights_.const_data_ptr<double>() : nullptr),
        nan_policy_(nan_policy) {}

  double operator[](std::int64_t index) const {
    return data_ ? data_[index] : 1;
  }
  /// Whether a position with this loss is counted; throws under kError.
  bool takes(double loss, std::int64_t index) const {
    return takes(loss, index, index);
  }
  /// The same for the loss of one of several elements with the position's
  /// weight.
  bool takes(double loss, std::int64_t index, std::int64_t element) const {
    return nan_policy_ == NanPolicy::kPropagate ||
           !(std::isnan(loss) || std::isnan((*this)[index])) ||
           refuse_or_drop(index, element);
  }

 private:
  bool refuse_or_drop(std::int64_t index, std::int64_t element) const;

  at::Tensor weights_;
  const double* data_;
  NanPolicy nan_policy_;
};

/// The positions in `kept` that are counted, given the mask `nan` of NaN
/// losses. Throws under kError. Weights may lack dimension 1, here and below.
at::Tensor without_nan(NanPolicy nan_policy, const at::Tensor& kept,
                       const at::Tensor& nan, const at::Tensor& weight);
/// The weights of counted positions, otherwise 0; float64.
at::Tensor kept_weights(const at::Tensor& kept, const at::Tensor& weight);
/// Positions whose target is not ignored. Throws for invalid class labels, on a
/// GPU only with validate_args.
at::Tensor kept_labels(const ClassLossRules& rules, const at::Tensor& target);

/// Calls add(index, loss, weight, is_one) for the counted elements of binary or
/// multilabel scores, with the loss plain(score, is_one). REQUIRES: validated
/// and plain; a batch that keeps NaN, which are dropped here.
template <class Plain, class Add>
void for_each_element_loss(const BinaryBatch& batch, const at::Tensor& weight,
                           NanPolicy nan_policy, const Plain& plain,
                           const Add& add) {
  const LossWeights weights(weight, nan_policy);
  const std::int64_t positions = batch.positions();
  const std::int64_t row = batch.labels() * positions;
  visit_elements(batch, [&](const auto* scores, const auto* targets) {
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      const auto label = static_cast<std::int64_t>(targets[i]);
      if (!batch.takes(scores[i], label, i)) continue;
      const double loss = plain(static_cast<double>(scores[i]), label == 1);
      const std::int64_t place =
          row == 1 ? i : i / row * positions + i % positions;
      if (weights.takes(loss, place, i))
        add(i, loss, weights[place], label == 1);
    }
  });
}

/// The same as tensors of the target's shape, with a graph if preds or weights
/// have one; weights of ignored elements are 0.
struct ElementLosses {
  at::Tensor losses;
  at::Tensor weights;
  at::Tensor is_one;
};
template <class TensorLoss>
ElementLosses element_losses(const BinaryBatch& batch, const at::Tensor& preds,
                             const at::Tensor& weight, NanPolicy nan_policy,
                             const TensorLoss& tensor) {
  const ElementTensors elements = element_tensors(batch);
  at::Tensor kept = elements.kept;
  // Ignored elements are set to 0 first, as a NaN there would reappear in the
  // gradient.
  const auto losses = [&](const at::Tensor& scores) {
    return tensor(scores.masked_fill(kept.logical_not(), 0).to(at::kDouble),
                  elements.target);
  };
  if (nan_policy != NanPolicy::kPropagate) {
    kept =
        without_nan(nan_policy, kept, losses(preds.detach()).isnan(), weight);
  }
  return {losses(preds), kept_weights(kept, weight), elements.target};
}

/// The sum of the losses of elements, if all of them count.
struct UsualSum {
  double sum = 0;
  bool is_usual = true;

  UsualSum& operator+=(const UsualSum& other) {
    sum += other.sum;
    is_usual &= other.is_usual;
    return *this;
  }
};

/// Nothing if some do not: NaN, or values that the batch refuses.
/// REQUIRES: as above, and nothing that is ignored.
template <class Plain>
std::optional<double> sum_usual_losses(const BinaryBatch& batch,
                                       const Plain& plain) {
  const bool checks_range = batch.checks_range();
  const auto sum_of = [&](const auto* scores, const auto* targets) {
    return sum_blocks(
        batch.size(), [&](std::int64_t begin, std::int64_t end) -> UsualSum {
          bool is_usual = true;
          for (std::int64_t i = begin; i < end; ++i) {
            const bool is_number = scores[i] == scores[i];
            const bool is_in_range = (scores[i] >= 0) & (scores[i] <= 1);
            is_usual &= ((targets[i] == 0) | (targets[i] == 1)) & is_number &
                        (is_in_range | !checks_range);
          }
          if (!is_usual) return {0, false};
          return {sum_terms(end - begin, [&](std::int64_t i) {
            return plain(static_cast<double>(scores[begin + i]),
                         targets[begin + i] == 1);
          })};
        });
  };
  const UsualSum all = visit_elements(batch, sum_of);
  if (!all.is_usual || std::isnan(all.sum)) return std::nullopt;
  return all.sum;
}

/// The losses of binary scores: `plain(score, is_one)` for numbers, or
/// `tensor(preds, target)` for float64 and bool. Validates the inputs; scores
/// must be probabilities if the rules require it.
template <class Plain, class TensorLoss>
WeightedSum sum_binary_losses(const BinaryRules& rules, const at::Tensor& preds,
                              const at::Tensor& target,
                              const at::Tensor& weight, const Plain& plain,
                              const TensorLoss& tensor) {
  check_binary_scores(preds, target);
  check_loss_weight(weight, target);
  BinaryRules all = rules;
  all.nan_policy = NanPolicy::kPropagate;
  const BinaryBatch batch(all, preds.detach(), target);
  if (are_plain(preds, target, weight)) {
    if (!weight.defined() && !rules.ignore_index) {
      if (const auto usual = sum_usual_losses(batch, plain)) {
        return {*usual, static_cast<double>(batch.size())};
      }
    }
    double sum = 0;
    double total = 0;
    for_each_element_loss(
        batch, weight, rules.nan_policy, plain,
        [&](std::int64_t, double loss, double own_weight, bool) {
          sum += own_weight * loss;
          total += own_weight;
        });
    return {sum, total};
  }
  const ElementLosses elements =
      element_losses(batch, preds, weight, rules.nan_policy, tensor);
  return {Number(elements.losses.mul(elements.weights).sum()),
          Number(elements.weights.sum())};
}

/// Calls loss(scores, stride, label, index) for the scores (float or double) of
/// each counted position [N, C, ...]. REQUIRES: validated and plain.
template <class Loss>
void for_each_class_loss(const ClassLossRules& rules, const at::Tensor& preds,
                         const at::Tensor& target, const Loss& loss) {
  const std::int64_t samples = preds.size(0);
  const std::int64_t row =
      rules.num_classes * samples == 0 ? 0 : preds.numel() / samples;
  const std::int64_t positions = row / rules.num_classes;
  const auto over = [&](const auto* scores, const auto* labels) {
    for (std::int64_t i = 0; i < samples * positions; ++i) {
      const auto label = static_cast<std::int64_t>(labels[i]);
      if (label == rules.ignore_index) continue;
      if (label < 0 || label >= rules.num_classes) {
        refuse_label(label, i, rules.num_classes, rules.ignore_index);
      }
      loss(scores + i / positions * row + i % positions, positions, label, i);
    }
  };
  visit_labels(target, [&](const auto* labels) {
    if (preds.scalar_type() == at::kDouble) {
      over(preds.const_data_ptr<double>(), labels);
    } else {
      const at::Tensor scores = preds.to(at::kFloat);
      over(scores.const_data_ptr<float>(), labels);
    }
  });
}

/// The losses of scores [N, C, ...]: `plain(scores, stride, label, index)`, or
/// `tensor(preds, labels)` for unconverted preds and int64 [N, ...]. Otherwise
/// like sum_binary_losses.
template <class Plain, class TensorLoss>
WeightedSum sum_class_losses(const ClassLossRules& rules,
                             const at::Tensor& preds,
                             const at::Tensor& given_target,
                             const at::Tensor& weight, const Plain& plain,
                             const TensorLoss& tensor) {
  check_class_scores(preds, given_target, rules.num_classes);
  check_loss_weight(weight, given_target);
  const auto whole = whole_target(given_target, rules.validate_args);
  const at::Tensor& target = *whole;
  if (are_plain(preds, target, weight)) {
    const LossWeights weights(weight, rules.nan_policy);
    double sum = 0;
    double total = 0;
    for_each_class_loss(rules, preds, target,
                        [&](const auto* scores, std::int64_t stride,
                            std::int64_t label, std::int64_t index) {
                          const double loss =
                              plain(scores, stride, label, index);
                          if (!weights.takes(loss, index)) return;
                          sum += weights[index] * loss;
                          total += weights[index];
                        });
    return {sum, total};
  }
  at::Tensor kept = kept_labels(rules, target);
  const auto losses = [&](const at::Tensor& scores) {
    const at::Tensor drop = kept.logical_not();
    return tensor(scores.masked_fill(drop.unsqueeze(1), 0),
                  target.to(at::kLong).masked_fill(drop, 0));
  };
  if (rules.nan_policy != NanPolicy::kPropagate) {
    kept = without_nan(rules.nan_policy, kept, losses(preds.detach()).isnan(),
                       weight);
  }
  const at::Tensor weights = kept_weights(kept, weight);
  return {Number(losses(preds).mul(weights).sum()), Number(weights.sum())};
}

}  // namespace tally::internal::classification

#include "tally/metrics/classification/pointwise/loss_sums.h"

#include <c10/util/Exception.h>

#include <limits>

#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/classification/pointwise/class_probabilities.h"
#include "tally/metrics/common/checks.h"

namespace tally::internal::classification {
namespace {

// With the dimension 1 of `shape`, if it has none.
at::Tensor like(const at::Tensor& shape, const at::Tensor& weight) {
  return weight.dim() < shape.dim() ? weight.unsqueeze(1).expand_as(shape)
                                    : weight;
}

}  // namespace

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

void check_loss_weight(const at::Tensor& weight, const at::Tensor& target) {
  if (!weight.defined()) return;
  check_real("weight", weight);
  check_same_shape("weight", weight, "target", target);
}

void check_probabilities(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach();
  const at::Tensor outside = values.lt(0).logical_or_(values.gt(1));
  if (const auto index = first_true(outside)) {
    refuse_probability(values.reshape(-1).select(0, *index).item().toDouble(),
                       *index);
  }
}

void check_class_probabilities(const at::Tensor& scores) {
  const at::Tensor values = scores.detach();
  const at::Tensor outside = values.lt(0).logical_or_(values.gt(1));
  if (const auto index = first_true(outside.any(1))) {
    const auto in_row = [&](const at::Tensor& tensor) {
      return tensor.movedim(1, -1)
          .reshape({-1, scores.size(1)})
          .select(0, *index);
    };
    const auto first = first_true(in_row(outside));
    refuse_probability(in_row(values).select(0, *first).item().toDouble(),
                       *index);
  }
}

bool are_plain(const at::Tensor& preds, const at::Tensor& target,
               const at::Tensor& weight) {
  return is_plain(preds) && is_plain(target) &&
         (!weight.defined() || is_plain(weight));
}

bool LossWeights::refuse_or_drop(std::int64_t index,
                                 std::int64_t element) const {
  if (nan_policy_ == NanPolicy::kError) {
    if (std::isnan((*this)[index])) refuse_nan("weight", index);
    refuse_nan("preds", element);
  }
  return false;
}

at::Tensor without_nan(NanPolicy nan_policy, const at::Tensor& kept,
                       const at::Tensor& nan, const at::Tensor& weight) {
  at::Tensor drop = nan.logical_and(kept);
  const auto refuse_first = [&](const char* input, const at::Tensor& mask) {
    if (nan_policy != NanPolicy::kError) return;
    if (const auto index = first_true(mask)) refuse_nan(input, *index);
  };
  refuse_first("preds", drop);
  if (weight.defined()) {
    const at::Tensor nan_weight =
        like(kept, weight.detach().isnan()).logical_and(kept);
    refuse_first("weight",
                 weight.dim() < kept.dim() ? nan_weight.any(1) : nan_weight);
    drop = drop.logical_or(nan_weight);
  }
  return kept.logical_and(drop.logical_not());
}

at::Tensor kept_weights(const at::Tensor& kept, const at::Tensor& weight) {
  if (!weight.defined()) return kept.to(at::kDouble);
  return like(kept, weight.to(at::kDouble)).masked_fill(kept.logical_not(), 0);
}

at::Tensor kept_labels(const ClassLossRules& rules, const at::Tensor& target) {
  if (rules.validate_args || target.is_cpu()) {
    check_labels(target, rules.num_classes, rules.ignore_index);
  }
  const at::Tensor labels = target.to(at::kLong);
  at::Tensor kept = labels.ge(0).logical_and_(labels.lt(rules.num_classes));
  if (rules.ignore_index) kept.logical_and_(labels.ne(*rules.ignore_index));
  return kept;
}

void refuse_sum(double sum, std::int64_t position) {
  TORCH_CHECK_VALUE(false, "expected probabilities that add up to 1 over the ",
                    "classes as preds, got a sum of ", sum, " at position ",
                    position, " (input is ScoreKind::kLogits for logits)");
}

void check_rows(const ClassLossRules& rules, const ProbabilityRows& rows,
                const at::Tensor& preds, const at::Tensor& target, Note& note) {
  if (!preds.is_cpu()) return;
  for_each_class_loss(
      rules, dense(preds.detach()),
      dense(*whole_target(target, rules.validate_args)),
      [&](const auto* own, std::int64_t stride, std::int64_t,
          std::int64_t index) { rows.check(own, stride, index, note); });
}

}  // namespace tally::internal::classification

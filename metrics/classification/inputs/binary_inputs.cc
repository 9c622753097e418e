#include "tally/metrics/classification/inputs/binary_inputs.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/logit_kernels.h"

namespace tally::internal::classification {
namespace {

// What the loops read as it is.
at::Tensor readable(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBool:
    case at::kByte:
    case at::kLong:
    case at::kFloat:
    case at::kDouble:
      return dense(tensor);
    case at::kHalf:
    case at::kBFloat16:
      return dense(tensor.to(at::kFloat));
    default:
      return dense(tensor.to(at::kLong));
  }
}

double rounded(double value, at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return value;
    case at::kHalf:
      return static_cast<at::Half>(static_cast<float>(value));
    case at::kBFloat16:
      return static_cast<at::BFloat16>(static_cast<float>(value));
    default:
      return static_cast<float>(value);
  }
}

}  // namespace

void check_threshold(const char* metric, const ScoreThreshold& threshold,
                     ScoreKind input) {
  const double value = threshold;
  if (input == ScoreKind::kScores) {
    TORCH_CHECK_VALUE(threshold.is_given(), metric,
                      ": expected a threshold for scores of any kind (input "
                      "scores), on their scale, got none");
    TORCH_CHECK_VALUE(std::isfinite(value), metric,
                      ": expected a finite threshold, got ", value);
    return;
  }
  TORCH_CHECK_VALUE(value >= 0 && value <= 1, metric,
                    ": expected threshold in [0, 1], got ", value,
                    " (input is ScoreKind::kScores for scores of any kind)");
}

void check_binary_scores(const at::Tensor& preds, const at::Tensor& target) {
  check_floating("preds", preds);
  check_target_type(target);
  check_same_shape("preds", preds, "target", target);
}

BinaryBatch::BinaryBatch(const BinaryRules& rules, const at::Tensor& preds,
                         const at::Tensor& target, const at::Tensor& weight)
    : rules_(rules) {
  set_inputs(preds, target);
  if (target.dim() > 1)
    positions_ = target.numel() / std::max<std::int64_t>(samples_, 1);
  if (weight.defined()) set_weight(weight, target.sizes());
}

BinaryBatch::BinaryBatch(const BinaryRules& rules, Labels labels,
                         const at::Tensor& preds, const at::Tensor& target,
                         const at::Tensor& weight)
    : rules_(rules), labels_(labels.count) {
  set_inputs(preds, target);
  const at::IntArrayRef sizes = target.sizes();
  TORCH_CHECK_VALUE(sizes.size() >= 2 && sizes[1] == labels_,
                    "expected preds and target of shape [N, ", labels_,
                    ", ...], got ", sizes);
  for (const std::int64_t size : sizes.slice(2)) positions_ *= size;
  if (weight.defined()) {
    c10::SmallVector<std::int64_t, 4> expected(sizes.begin(), sizes.end());
    expected.erase(expected.begin() + 1);
    set_weight(weight, expected);
  }
}

void BinaryBatch::set_inputs(const at::Tensor& preds,
                             const at::Tensor& given_target) {
  check_same_device("preds", preds, "target", given_target);
  check_dense("preds", preds);
  check_dense("target", given_target);
  const auto whole = whole_target(given_target, rules_.validate_args);
  const at::Tensor& target = *whole;
  check_label_type("target", target, 2);
  const at::ScalarType dtype = preds.scalar_type();
  has_scores_ = is_score_type(dtype);
  if (!has_scores_) check_label_type("preds", preds, 2);
  TORCH_CHECK_VALUE(target.dim() >= 1,
                    "expected target of shape [N, ...], got a 0-dim tensor");
  TORCH_CHECK_VALUE(
      preds.sizes() == target.sizes(),
      "expected preds and target of the same shape, got ", preds.sizes(),
      " and ", target.sizes(),
      shape_hint("preds", preds.sizes(), "target", target.sizes()));
  preds_ = readable(preds);
  target_ = readable(target);
  samples_ = target.size(0);
  if (has_scores_) {
    const bool logits = rules_.input == ScoreKind::kLogits;
    threshold_ =
        rounded(logits ? logit(rules_.threshold) : rules_.threshold, dtype);
    checks_range_ =
        rules_.input == ScoreKind::kProbabilities && rules_.validate_args;
  }
}

void BinaryBatch::set_weight(const at::Tensor& weight, at::IntArrayRef sizes) {
  weight_ =
      checked_weight(weight, target_, sizes).reshape({samples_, positions_});
}

bool BinaryBatch::takes_nan(std::int64_t index) const {
  if (rules_.nan_policy == NanPolicy::kError) refuse_nan("preds", index);
  return rules_.nan_policy == NanPolicy::kPropagate;
}

bool BinaryBatch::takes_nan_weight(std::int64_t index) const {
  if (rules_.nan_policy == NanPolicy::kError) refuse_nan("weight", index);
  return rules_.nan_policy == NanPolicy::kPropagate;
}

void BinaryBatch::refuse_target(std::int64_t label, std::int64_t index) const {
  refuse_label(label, index, 2, rules_.ignore_index);
}

void BinaryBatch::refuse_preds(std::int64_t label, std::int64_t index) const {
  refuse_predicted_label(label, index, 2);
}

void BinaryBatch::refuse_score(double score, std::int64_t index) const {
  refuse_probability(score, index, rules_.takes_scores);
}

ElementTensors element_tensors(const BinaryBatch& batch) {
  const BinaryRules& rules = batch.rules();
  const at::Tensor& target = batch.target();
  const at::Tensor& preds = batch.preds();
  const bool checks = rules.validate_args || batch.is_plain();
  const auto first_if = [&](bool checked, const at::Tensor& wrong) {
    return checked ? first_true(wrong) : std::nullopt;
  };
  const auto value_at = [](const at::Tensor& tensor, std::int64_t index) {
    return tensor.reshape(-1).select(0, index).item();
  };

  at::Tensor kept = rules.ignore_index
                        ? target.to(at::kLong).ne(*rules.ignore_index)
                        : target.eq(target);
  const auto wrong_label = [&](const at::Tensor& labels) {
    return labels.ne(0).logical_and_(labels.ne(1)).logical_and_(kept);
  };
  const at::Tensor bad_target = wrong_label(target);
  if (const auto i = first_if(checks, bad_target)) {
    batch.refuse_target(value_at(target, *i).toLong(), *i);
  }
  kept.logical_and_(bad_target.logical_not());
  if (!batch.has_scores()) {
    const at::Tensor bad = wrong_label(preds);
    if (const auto i = first_if(checks, bad)) {
      batch.refuse_preds(value_at(preds, *i).toLong(), *i);
    }
    kept.logical_and_(bad.logical_not());
    return {preds.ne(0), target.ne(0), kept, kept.logical_xor(kept)};
  }
  at::Tensor nan = preds.isnan().logical_and_(kept);
  if (const auto i = first_if(rules.nan_policy == NanPolicy::kError, nan)) {
    refuse_nan("preds", *i);
  }
  if (batch.checks_range()) {
    const at::Tensor outside =
        preds.lt(0).logical_or_(preds.gt(1)).logical_and_(kept);
    if (const auto i = first_true(outside)) {
      batch.refuse_score(value_at(preds, *i).toDouble(), *i);
    }
  }
  if (rules.nan_policy == NanPolicy::kIgnore) {
    kept.logical_and_(nan.logical_not());
    nan = nan.logical_and_(kept);
  }
  return {preds.gt(batch.threshold()), target.ne(0), kept, nan};
}

void check_multilabel_scores(const at::Tensor& preds, const at::Tensor& target,
                             std::int64_t num_labels) {
  check_binary_scores(preds, target);
  TORCH_CHECK_VALUE(preds.dim() >= 2 && preds.size(1) == num_labels,
                    "expected preds and target of shape [N, ", num_labels,
                    ", ...], got ", preds.sizes());
}

void check_num_labels(const char* metric, std::int64_t num_labels) {
  TORCH_CHECK_VALUE(num_labels >= 1, metric,
                    ": expected num_labels of at least 1, got ", num_labels);
}

}  // namespace tally::internal::classification

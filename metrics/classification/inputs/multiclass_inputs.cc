#include "tally/metrics/classification/inputs/multiclass_inputs.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include "tally/metrics/classification/inputs/value_checks.h"
#include "tally/metrics/common/checks.h"

namespace tally::internal::classification {
namespace {

at::Tensor as_int64(const at::Tensor& labels) {
  return labels.scalar_type() == at::kLong ? dense(labels)
                                           : dense(labels.to(at::kLong));
}

std::int64_t label_at(const at::Tensor& labels, std::int64_t index) {
  return labels.reshape(-1).select(0, index).item<std::int64_t>();
}

}  // namespace

void check_num_classes(const char* metric, std::int64_t num_classes,
                       std::int64_t top_k) {
  TORCH_CHECK_VALUE(num_classes >= 2, metric,
                    ": expected num_classes of at least 2, got ", num_classes);
  TORCH_CHECK_VALUE(top_k >= 1 && top_k <= num_classes, metric,
                    ": expected top_k from 1 to num_classes ", num_classes,
                    ", got ", top_k);
}

MulticlassBatch::MulticlassBatch(const MulticlassRules& rules,
                                 const at::Tensor& preds,
                                 const at::Tensor& given_target,
                                 const at::Tensor& weight)
    : rules_(rules) {
  check_same_device("preds", preds, "target", given_target);
  check_dense("preds", preds);
  check_dense("target", given_target);
  const auto whole = whole_target(given_target, rules.validate_args);
  const at::Tensor& target = *whole;
  check_label_type("target", target, rules.num_classes);
  const at::IntArrayRef sizes = target.sizes();
  TORCH_CHECK_VALUE(!sizes.empty(),
                    "expected target of shape [N, ...], got a 0-dim tensor");
  has_scores_ = is_score_type(preds.scalar_type());
  if (has_scores_) {
    const at::IntArrayRef given = preds.sizes();
    TORCH_CHECK_VALUE(
        given.size() == sizes.size() + 1 && given[0] == sizes[0] &&
            given[1] == rules.num_classes && given.slice(2) == sizes.slice(1),
        "expected scores of shape [N, ", rules.num_classes, ", ...] in preds ",
        "for target of shape [N, ...] (or labels of an integer dtype), got ",
        given, " for ", sizes, class_hint(given, sizes, rules.num_classes));
  } else {
    check_label_type("preds", preds, rules.num_classes);
    TORCH_CHECK_VALUE(preds.sizes() == sizes, "expected labels in preds of ",
                      "target's shape (or scores of a floating-point dtype), ",
                      "got ", preds.sizes(), " for ", sizes,
                      class_hint(preds.sizes(), sizes, rules.num_classes));
    TORCH_CHECK_VALUE(rules.top_k == 1, "expected scores in preds for top_k ",
                      rules.top_k, ", got labels");
  }
  preds_ = has_scores_ ? dense(preds) : as_int64(preds);
  target_ = as_int64(target);
  samples_ = sizes[0];
  positions_ = 1;
  for (const std::int64_t size : sizes.slice(1)) positions_ *= size;
  if (weight.defined()) weight_ = checked_weight(weight, target, sizes);
}

bool MulticlassBatch::takes_nan(std::int64_t index) const {
  if (rules_.nan_policy == NanPolicy::kError) refuse_nan_at(index);
  return rules_.nan_policy == NanPolicy::kPropagate;
}

bool MulticlassBatch::takes_nan_weight(std::int64_t index) const {
  if (rules_.nan_policy == NanPolicy::kError) refuse_nan("weight", index);
  return rules_.nan_policy == NanPolicy::kPropagate;
}

void MulticlassBatch::refuse_target(std::int64_t label,
                                    std::int64_t index) const {
  refuse_label(label, index, rules_.num_classes, rules_.ignore_index);
}

void MulticlassBatch::refuse_preds(std::int64_t label,
                                   std::int64_t index) const {
  refuse_predicted_label(label, index, rules_.num_classes);
}

void MulticlassBatch::refuse_nan_at(std::int64_t index) const {
  TORCH_CHECK_VALUE(false, "expected preds without NaN, got NaN among the ",
                    "scores for target's position ", index);
}

PredictionTensors prediction_tensors(const MulticlassBatch& batch) {
  const MulticlassRules& rules = batch.rules();
  const std::int64_t classes = rules.num_classes;
  const at::Tensor target =
      batch.target().reshape({batch.samples(), batch.positions()});
  const auto outside = [&](const at::Tensor& labels) {
    return labels.lt(0).logical_or(labels.ge(classes));
  };
  const auto first_if_checked = [&](const at::Tensor& wrong) {
    return rules.validate_args || wrong.is_cpu() ? first_true(wrong)
                                                 : std::nullopt;
  };

  at::Tensor ignored = target.ne(target);
  if (rules.ignore_index) ignored = target.eq(*rules.ignore_index);
  const at::Tensor bad_target = outside(target).logical_and(~ignored);
  if (const auto index = first_if_checked(bad_target)) {
    batch.refuse_target(label_at(target, *index), *index);
  }
  at::Tensor skip = ignored.logical_or(bad_target);
  at::Tensor weight = batch.weight();
  at::Tensor nan_weight = skip.logical_and(~skip);
  if (weight.defined()) {
    weight = weight.reshape(target.sizes());
    const at::Tensor nan = weight.isnan().logical_and(~skip);
    if (rules.nan_policy == NanPolicy::kError) {
      if (const auto index = first_true(nan)) refuse_nan("weight", *index);
    }
    if (rules.nan_policy == NanPolicy::kIgnore) skip = skip.logical_or(nan);
    nan_weight = nan.logical_and(~skip);
    weight = weight.masked_fill(nan, 0);
  }
  const auto kept_weight = [&] {
    return weight.defined() ? weight.masked_fill(skip, 0) : weight;
  };

  if (!batch.has_scores()) {
    const at::Tensor labels = batch.preds().reshape(target.sizes());
    const at::Tensor bad = outside(labels).logical_and(~skip);
    if (const auto index = first_if_checked(bad)) {
      batch.refuse_preds(label_at(labels, *index), *index);
    }
    skip = skip.logical_or(bad);
    return {labels.masked_fill(skip, classes)
                .masked_fill(nan_weight.logical_and(~skip), kNanClass),
            target.masked_fill(skip, classes), kept_weight()};
  }

  const at::Tensor scores =
      batch.preds().reshape({batch.samples(), classes, batch.positions()});
  at::Tensor predicted = scores.argmax(1);
  if (rules.top_k > 1) {
    const at::Tensor safe = target.masked_fill(skip, 0).unsqueeze(1);
    const at::Tensor own = scores.gather(1, safe);
    const at::Tensor lower =
        at::arange(classes, safe.options()).reshape({1, classes, 1}).lt(safe);
    const at::Tensor larger =
        scores.gt(own).logical_or(scores.eq(own).logical_and(lower)).sum(1);
    predicted = at::where(larger.lt(rules.top_k), target, predicted);
  }
  const at::Tensor has_nan = scores.isnan().any(1).logical_and(~skip);
  if (rules.nan_policy == NanPolicy::kError) {
    if (const auto index = first_true(has_nan)) batch.refuse_nan_at(*index);
  }
  if (rules.nan_policy == NanPolicy::kIgnore) {
    skip = skip.logical_or(has_nan);
  } else {
    predicted = predicted.masked_fill(has_nan, kNanClass);
  }
  predicted = predicted.masked_fill(nan_weight, kNanClass);
  return {predicted.masked_fill(skip, classes),
          target.masked_fill(skip, classes), kept_weight()};
}

}  // namespace tally::internal::classification

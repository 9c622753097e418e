#pragma once

#include "tally/metrics/classification/inputs/binary_inputs.h"

/// Common parts of metrics over several labels per sample.
namespace tally::internal::classification {

/// check_binary_scores, and c10::ValueError unless they are [N, num_labels,
/// ...].
void check_multilabel_scores(const at::Tensor& preds, const at::Tensor& target,
                             std::int64_t num_labels);

/// Throws c10::ValueError unless there is at least one label.
void check_num_labels(const char* metric, std::int64_t num_labels);

/// preds and target [N, num_labels, ...], weight (may be undefined) [N, ...].
class MultilabelBatch : public BinaryBatch {
 public:
  MultilabelBatch(const BinaryRules& rules, std::int64_t num_labels,
                  const at::Tensor& preds, const at::Tensor& target,
                  const at::Tensor& weight = {})
      : BinaryBatch(rules, Labels{num_labels}, preds, target, weight) {}
};

}  // namespace tally::internal::classification

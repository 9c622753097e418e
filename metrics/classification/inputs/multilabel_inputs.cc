#include "tally/metrics/classification/inputs/multilabel_inputs.h"

#include <c10/util/Exception.h>

namespace tally::internal::classification {

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

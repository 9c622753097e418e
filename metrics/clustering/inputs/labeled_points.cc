#include "tally/metrics/clustering/inputs/labeled_points.h"

#include <c10/util/Exception.h>

#include "tally/metrics/common/checks.h"

namespace tally::internal::clustering {
namespace {

void check_labels(const char* input, const at::Tensor& labels) {
  check_integral(input, labels);
  check_real(input, labels);
}

}  // namespace

void check_label_pairs(const at::Tensor& preds, const at::Tensor& target) {
  check_labels("preds", preds);
  check_labels("target", target);
  check_same_shape("preds", preds, "target", target);
}

LabeledPoints labeled_points(const at::Tensor& data, const at::Tensor& labels,
                             NanPolicy policy) {
  check_real("data", data);
  check_labels("labels", labels);
  check_same_device("data", data, "labels", labels);
  TORCH_CHECK_VALUE(data.dim() == 2 && data.size(1) > 0,
                    "expected data of shape [N, D], D at least 1, got ",
                    data.sizes());
  TORCH_CHECK_VALUE(
      labels.dim() == 1 && labels.size(0) == data.size(0),
      "expected labels of shape [", data.size(0),
      "], one for each row of data, got ", labels.sizes(),
      shape_hint("data", data.sizes().slice(0, 1), "labels", labels.sizes()));
  LabeledPoints points{data.contiguous(), labels.to(at::kLong)};
  if (policy == NanPolicy::kPropagate || !has_nan(data)) return points;
  TORCH_CHECK_VALUE(policy == NanPolicy::kIgnore,
                    "expected data without NaN, got some");
  const at::Tensor kept =
      data.detach().isnan().any(1).logical_not().nonzero().squeeze(1);
  return {data.index_select(0, kept), points.labels.index_select(0, kept)};
}

}  // namespace tally::internal::clustering

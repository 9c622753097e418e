#include "tally/metrics/classification/classification_checks.h"

#include <c10/util/Exception.h>

#include "tally/metrics/checks.h"

namespace tally::internal {

void check_class_scores(const at::Tensor& preds, const at::Tensor& target,
                        std::int64_t num_classes) {
  check_floating("preds", preds);
  check_integral("target", target);
  check_same_device("preds", preds, "target", target);
  TORCH_CHECK_VALUE(preds.dim() >= 2 && preds.size(1) == num_classes &&
                        preds.dim() == target.dim() + 1 &&
                        preds.size(0) == target.size(0) &&
                        preds.sizes().slice(2) == target.sizes().slice(1),
                    "expected preds [N, ", num_classes,
                    ", ...] and target [N, ...], got sizes ", preds.sizes(),
                    " and ", target.sizes());
}

bool is_label_type(at::ScalarType type) {
  return type == at::kBool || type == at::kByte || type == at::kChar ||
         type == at::kShort || type == at::kInt || type == at::kLong;
}

bool is_score_type(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf ||
         type == at::kBFloat16;
}

void check_label_type(const char* input, const at::Tensor& labels,
                      std::int64_t num_classes) {
  TORCH_CHECK_TYPE(is_label_type(labels.scalar_type()), "expected labels of ",
                   "dtype bool, uint8, int8, int16, int32 or int64 in ", input,
                   ", got ", labels.scalar_type());
  TORCH_CHECK_TYPE(labels.scalar_type() != at::kBool || num_classes == 2,
                   "expected labels of an integer dtype in ", input, " for ",
                   num_classes, " classes, got bool, which is for 2");
}

void check_dense(const char* input, const at::Tensor& tensor) {
  TORCH_CHECK_TYPE(tensor.layout() == at::kStrided, "expected a dense tensor ",
                   "as ", input, ", got layout ", tensor.layout());
}

at::Tensor dense(const at::Tensor& tensor) {
  return tensor.is_neg() ? tensor.resolve_neg().contiguous()
                         : tensor.contiguous();
}

at::Tensor checked_weight(const at::Tensor& weight, const at::Tensor& target,
                          at::IntArrayRef sizes) {
  check_real("weight", weight);
  check_same_device("weight", weight, "target", target);
  TORCH_CHECK_VALUE(weight.sizes() == sizes, "expected weight of shape ", sizes,
                    ", got ", weight.sizes());
  return dense(weight.detach().to(at::kDouble));
}

void refuse_predicted_label(std::int64_t value, std::int64_t position,
                            std::int64_t num_classes) {
  TORCH_CHECK_INDEX(false, "expected preds in [0, ", num_classes, "), got ",
                    value, " at position ", position);
}

void refuse_label(std::int64_t value, std::int64_t position,
                  std::int64_t num_classes,
                  std::optional<std::int64_t> ignore_index) {
  TORCH_CHECK_INDEX(
      false, "expected target in [0, ", num_classes, ")",
      ignore_index ? c10::str(" or ignore_index (", *ignore_index, ")") : "",
      ", got ", value, " at position ", position);
}

void check_labels(const at::Tensor& target, std::int64_t num_classes,
                  std::optional<std::int64_t> ignore_index) {
  const at::Tensor labels = target.to(at::kLong);
  at::Tensor bad = labels.lt(0).logical_or_(labels.ge(num_classes));
  if (ignore_index) bad.logical_and_(labels.ne(*ignore_index));
  if (const auto position = first_true(bad)) {
    refuse_label(labels.reshape(-1).select(0, *position).item().toLong(),
                 *position, num_classes, ignore_index);
  }
}

void refuse_nan(const char* input, std::int64_t position) {
  TORCH_CHECK_VALUE(false, "expected ", input, " without NaN, got NaN at ",
                    "position ", position);
}

void refuse_probability(double score, std::int64_t position) {
  TORCH_CHECK_VALUE(false, "expected probabilities in [0, 1] as preds, got ",
                    score, " at position ", position);
}

std::optional<std::int64_t> first_true(const at::Tensor& mask) {
  if (!mask.any().item().toBool()) return std::nullopt;
  return mask.reshape(-1).to(at::kByte).argmax().item().toLong();
}

}  // namespace tally::internal

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

/// Checks of input values, for metrics that make them in their own pass over
/// the data. Positions are indices of a tensor's elements in row-major order.
namespace tally::internal::classification {

/// c10::TypeError or c10::ValueError unless preds are floating-point scores
/// A hint for preds that are neither scores [N, num_classes, ...] nor labels
/// matching the target; see shape_hint.
std::string class_hint(at::IntArrayRef preds, at::IntArrayRef target,
                       std::int64_t num_classes);
/// [N, num_classes, ...] and target of a dtype for labels, [N, ...].
void check_class_scores(const at::Tensor& preds, const at::Tensor& target,
                        std::int64_t num_classes);

/// Labels are bool or integers of up to 64 bits with a sign, or uint8.
bool is_label_type(at::ScalarType type);
/// c10::TypeError unless of an integer dtype (bool counts as one) or one that
/// scores may have.
void check_target_type(const at::Tensor& target);
/// Floating-point targets as int64, others unchanged. Throws c10::ValueError
/// for the first that is not a whole number; on a GPU, where that synchronizes,
/// only with `checks`. May refer to the argument.
c10::MaybeOwned<at::Tensor> whole_target(const at::Tensor& target, bool checks);
/// Scores are float, double, half or bfloat16.
bool is_score_type(at::ScalarType type);
/// c10::TypeError unless labels; bool is for 2 classes.
void check_label_type(const char* input, const at::Tensor& labels,
                      std::int64_t num_classes);
/// c10::TypeError unless the tensor is dense.
void check_dense(const char* input, const at::Tensor& tensor);
/// A contiguous tensor, with a lazy negation resolved.
at::Tensor dense(const at::Tensor& tensor);

/// Weights as dense float64, without a graph; c10::TypeError or c10::ValueError
/// unless they are real numbers of these sizes on the target's device.
at::Tensor checked_weight(const at::Tensor& weight, const at::Tensor& target,
                          at::IntArrayRef sizes);

/// c10::IndexError: `value` is no class in [0, num_classes), as preds.
[[noreturn]] void refuse_predicted_label(std::int64_t value,
                                         std::int64_t position,
                                         std::int64_t num_classes);

/// c10::IndexError: `value` is neither in [0, num_classes) nor ignored.
[[noreturn]] void refuse_label(std::int64_t value, std::int64_t position,
                               std::int64_t num_classes,
                               std::optional<std::int64_t> ignore_index);

/// Throws it for the first such element of a tensor on any device.
void check_labels(const at::Tensor& target, std::int64_t num_classes,
                  std::optional<std::int64_t> ignore_index);

/// c10::ValueError: NaN in `input` at `position`.
[[noreturn]] void refuse_nan(const char* input, std::int64_t position);

/// c10::ValueError: a score outside [0, 1] that must be a probability; with
/// `any_allowed`, the metric accepts any scores if its `input` option says so.
[[noreturn]] void refuse_probability(double score, std::int64_t position,
                                     bool any_allowed = false);

/// The position of the first true element of a bool tensor.
std::optional<std::int64_t> first_true(const at::Tensor& mask);

/// Calls `visit` with a pointer to class indexes that is_plain() (checks.h):
/// int64, or bytes for bool and uint8; other dtypes are converted.
template <class Visit>
auto visit_labels(const at::Tensor& target, const Visit& visit) {
  switch (target.scalar_type()) {
    case at::kLong:
      return visit(target.const_data_ptr<std::int64_t>());
    case at::kBool:
    case at::kByte:
      return visit(static_cast<const std::uint8_t*>(target.const_data_ptr()));
    default:
      return visit(target.to(at::kLong).const_data_ptr<std::int64_t>());
  }
}

}  // namespace tally::internal::classification

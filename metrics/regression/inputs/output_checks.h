#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>

#include "tally/metrics/metric_options.h"

/// Input handling of the regression metrics.
namespace tally::internal::regression {

/// c10::ValueError for num_outputs below 1.
void check_num_outputs(const char* metric, std::int64_t num_outputs);

/// Throws c10::TypeError or c10::ValueError unless preds and target are dense,
/// real, and have the same shape: any for one output, otherwise [N,
/// num_outputs].
void check_outputs(const at::Tensor& preds, const at::Tensor& target,
                   std::int64_t num_outputs);

/// The same for metrics whose value is not a sum over elements: one output is
/// [N], [N, 1] or of more than two dimensions, each position a sample: [N, D]
/// is read as D outputs elsewhere, and must not silently become samples.
void check_columns(const at::Tensor& preds, const at::Tensor& target,
                   std::int64_t num_outputs);

/// c10::TypeError or c10::ValueError unless both are dense, real, and [N, D], D
/// at least 1.
void check_rows(const char* a_input, const at::Tensor& a, const char* b_input,
                const at::Tensor& b);

/// Whether any element is below 0; NaN is not. Synchronizes with the device.
bool has_negative(const at::Tensor& tensor);

/// "2 as preds and -3 as target at position 1": the first pair that is not
/// valid. REQUIRES: there is one, and both have as many elements.
std::string first_invalid(const at::Tensor& preds, const at::Tensor& target,
                          c10::function_ref<bool(double, double)> valid);

/// For inputs that passed check_outputs or check_columns: throws c10::TypeError
/// or c10::ValueError unless weight is real, has one element per sample
/// (element of preds, or row with several outputs), and, with `validate`, none
/// below 0.
void check_weight(const at::Tensor& preds, const at::Tensor& weight,
                  std::int64_t num_outputs, bool validate);

/// The inputs of one update; weight may be undefined.
struct Samples {
  const at::Tensor& preds;
  const at::Tensor& target;
  const at::Tensor& weight;

  /// Whether plain loops may read them.
  bool are_plain() const;
};
struct KeptSamples {
  at::Tensor preds, target, weight;
};

/// As num_outputs of handle_nan: a row of any length is a sample.
constexpr std::int64_t kWholeRows = 0;

/// Handles inputs that may contain NaN: kError throws, kIgnore returns them
/// without the samples (elements, or rows with several outputs) that contain
/// NaN. Synchronizes with the device.
KeptSamples handle_nan(const Samples& samples, std::int64_t num_outputs,
                       NanPolicy policy);

/// The result of `observe(samples)` under the policy. A NaN in the inputs must
/// propagate to its result, so that has_nan() of it is true.
template <class Observe>
auto observe_by_policy(const Samples& samples, std::int64_t num_outputs,
                       NanPolicy policy, const Observe& observe) {
  if (samples.preds.is_cpu() || policy == NanPolicy::kPropagate) {
    auto state = observe(samples);
    if (policy == NanPolicy::kPropagate || !state.has_nan()) return state;
  }
  const KeptSamples kept = handle_nan(samples, num_outputs, policy);
  return observe(Samples{kept.preds, kept.target, kept.weight});
}

/// A tensor [num_outputs] of NaN.
at::Tensor undefined_outputs(std::int64_t num_outputs);

/// The value, or NaN with a gradient of 0.
at::Tensor undefined_unless(bool is_defined, const at::Tensor& value);

/// The square root with gradient 0 at 0: the true gradient is infinite there,
/// and would make all gradients before it NaN.
at::Tensor root(const at::Tensor& value);

}  // namespace tally::internal::regression

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/metric_options.h"

/// What the regression metrics do with their inputs.
namespace tally::internal::regression {

/// c10::ValueError for num_outputs below 1.
void check_num_outputs(const char* metric, std::int64_t num_outputs);

/// c10::TypeError or c10::ValueError unless preds and target are dense, real,
/// and of one shape: any for one output, else [N, num_outputs].
void check_outputs(const at::Tensor& preds, const at::Tensor& target,
                   std::int64_t num_outputs);

/// The same for metrics whose value is not a sum over elements: one output is
/// [N] or [N, 1], so that columns do not silently become samples.
void check_columns(const at::Tensor& preds, const at::Tensor& target,
                   std::int64_t num_outputs);

/// c10::TypeError or c10::ValueError unless both are dense, real, and [N, D], D
/// at least 1.
void check_rows(const char* a_input, const at::Tensor& a, const char* b_input,
                const at::Tensor& b);

/// Whether any element is below 0; NaN is not. Waits for the device.
bool has_negative(const at::Tensor& tensor);

/// Of what check_outputs or check_columns let pass: c10::TypeError or
/// c10::ValueError unless weight is real, has one element for each sample (each
/// element of preds, or each row of several outputs), and, if `validate`, none
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

/// As num_outputs of handle_nan: a row is a sample, however long.
constexpr std::int64_t kWholeRows = 0;

/// For inputs with a NaN, or that may have one, and a policy that wants to
/// know: kError throws, kIgnore returns them without the samples (elements, or
/// rows of several outputs) in which any is NaN. Waits for the device.
KeptSamples handle_nan(const Samples& samples, std::int64_t num_outputs,
                       NanPolicy policy);

/// What `observe(samples)` returns, by the policy. A NaN in the inputs must
/// come through into its result, so that has_nan() of it is true.
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

/// [num_outputs] of NaN.
at::Tensor undefined_outputs(std::int64_t num_outputs);

/// The value, or NaN with a gradient of 0.
at::Tensor undefined_unless(bool is_defined, const at::Tensor& value);

/// The root, whose gradient at 0 is 0: the root's own is infinite there, and
/// would make the gradients of whatever came before it NaN.
at::Tensor root(const at::Tensor& value);

}  // namespace tally::internal::regression

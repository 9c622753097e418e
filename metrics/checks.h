#pragma once

#include <ATen/core/Tensor.h>

#include <string>

/// Checks that metrics share. Each throws before anything has changed; the
/// message says what was expected of which input and what came, and the metric
/// adds its name.
namespace tally::internal {

/// c10::ValueError unless the input is there.
void check_defined(const char* input, const at::Tensor& tensor);
/// c10::TypeError unless the input is of a floating-point dtype.
void check_floating(const char* input, const at::Tensor& tensor);
/// c10::TypeError unless the input is of an integer dtype; bool counts as one.
void check_integral(const char* input, const at::Tensor& tensor);
/// c10::TypeError unless the input is a dense tensor of a real dtype: floating
/// point, integers or bool.
void check_real(const char* input, const at::Tensor& tensor);
/// c10::ValueError unless both are defined, on the same device and of the same
/// sizes.
void check_same_shape(const char* a_input, const at::Tensor& a,
                      const char* b_input, const at::Tensor& b);
/// What may have gone wrong, to stand behind what came: "; did you mean
/// target.squeeze(1)?" for [N, 1] where [N] is wanted, or that the numbers of
/// rows differ. Empty if nothing comes to mind.
std::string shape_hint(const char* a_input, at::IntArrayRef a,
                       const char* b_input, at::IntArrayRef b);
/// c10::ValueError unless both are on the same device.
void check_same_device(const char* a_input, const at::Tensor& a,
                       const char* b_input, const at::Tensor& b);

/// Whether a plain loop over the tensor's memory is allowed: on the CPU,
/// contiguous, and with no graph to be recorded.
bool is_plain(const at::Tensor& tensor);

/// Whether any element is NaN. Waits for the device.
bool has_nan(const at::Tensor& tensor);

}  // namespace tally::internal

#pragma once

#include <ATen/core/Tensor.h>

#include <string>

/// Input checks shared by metrics. Each throws before anything is modified; the
/// message states the input, what was expected and what was received, and the
/// metric appends its name.
namespace tally::internal {

/// c10::ValueError unless the input is defined.
void check_defined(const char* input, const at::Tensor& tensor);
/// c10::TypeError unless the input has a floating-point dtype.
void check_floating(const char* input, const at::Tensor& tensor);
/// c10::TypeError unless the input has an integer dtype or is bool.
void check_integral(const char* input, const at::Tensor& tensor);
/// c10::TypeError unless the input is a dense tensor with a real dtype:
/// floating point, integer or bool.
void check_real(const char* input, const at::Tensor& tensor);
/// c10::ValueError unless both are defined, on the same device and have the
/// same sizes.
void check_same_shape(const char* a_input, const at::Tensor& a,
                      const char* b_input, const at::Tensor& b);
/// A hint to append to a message: "; did you mean target.squeeze(1)?" for [N,
/// 1] where [N] is expected, or that the numbers of rows differ. Empty if there
/// is no hint.
std::string shape_hint(const char* a_input, at::IntArrayRef a,
                       const char* b_input, at::IntArrayRef b);
/// c10::ValueError unless both are on the same device.
void check_same_device(const char* a_input, const at::Tensor& a,
                       const char* b_input, const at::Tensor& b);

/// Whether a plain loop over the tensor's memory is possible: it is on the CPU,
/// contiguous, and needs no graph to be recorded.
bool is_plain(const at::Tensor& tensor);

/// Whether any element is NaN. Synchronizes with the device.
bool has_nan(const at::Tensor& tensor);

}  // namespace tally::internal

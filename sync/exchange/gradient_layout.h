#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What averages of gradients are made of.
namespace tally::sync::internal {

/// What the gradients of such parameters are summed in; undefined where there
/// can be none.
at::ScalarType gradient_sum_dtype(at::ScalarType dtype);

/// The same memory as real numbers, without a graph.
at::Tensor reals(const at::Tensor& tensor);

/// Throws c10::ValueError for a gradient of parameter `i` that cannot be
/// averaged; an undefined one can.
void check_gradient(const char* name, std::size_t i,
                    const at::Tensor& gradient);

/// One bit for each parameter, at first 0.
std::string no_bits(std::size_t parameters);
void set_bit(std::string& bits, std::size_t i);
bool has_bit(const std::string& bits, std::size_t i);
/// Adds another rank's; c10::ValueError if there are more or fewer.
void add_bits(const char* name, std::string& bits, std::string_view others);

/// What must be the same on every rank, by list_of for the eye: this is called
/// for each step.
std::uint64_t fingerprint_of(const std::vector<at::Tensor>& parameters);

/// The parameter's gradient; made, without values, if it has none.
at::Tensor& ensure_gradient(const at::Tensor& parameter);

}  // namespace tally::sync::internal

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// Building blocks of gradient averaging.
namespace tally::sync::internal {

/// The dtype for summing gradients of parameters of this dtype; undefined if
/// there can be none.
at::ScalarType gradient_sum_dtype(at::ScalarType dtype);

/// A view as real numbers, without a graph.
at::Tensor reals(const at::Tensor& tensor);

/// Throws c10::ValueError for a gradient of parameter `i` that cannot be
/// averaged; an undefined one is allowed.
void check_gradient(const char* name, std::size_t i,
                    const at::Tensor& gradient);

/// One bit per parameter, initially 0.
std::string no_bits(std::size_t parameters);
void set_bit(std::string& bits, std::size_t i);
bool has_bit(const std::string& bits, std::size_t i);
/// Adds those of another rank; c10::ValueError if their number differs.
void add_bits(const char* name, std::string& bits, std::string_view others);

/// A hash of the properties that must be the same on every rank (see list_of
/// for their text), fast enough for every step.
std::uint64_t fingerprint_of(const std::vector<at::Tensor>& parameters);

/// The parameter's gradient; created uninitialized if it has none.
at::Tensor& ensure_gradient(const at::Tensor& parameter);

}  // namespace tally::sync::internal

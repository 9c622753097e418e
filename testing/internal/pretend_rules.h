#pragma once

#include <ATen/core/stack.h>

#include <string>

/// What CUDA's kernels of an operator do, as far as the CPU's differ.
namespace tally::testkit::internal {

/// Whether the host learns a size from it, and waits.
bool learns_size(const std::string& name, const torch::jit::Stack& arguments);

bool launches_kernel(const std::string& name);

/// Whether tensors of the CPU without dimensions pass as numbers.
bool takes_numbers(const std::string& name);

/// Whether indices on the CPU are copied to the device.
bool takes_host_indices(const std::string& name);

/// Whether there are no kernels for integers.
bool is_matrix_product(const std::string& name);

/// Whether there is no kernel.
bool is_of_the_cpu(const std::string& name);

/// Whether it sums floating point by atomic additions.
bool sums_unordered(const std::string& name,
                    const torch::jit::Stack& arguments);

}  // namespace tally::testkit::internal

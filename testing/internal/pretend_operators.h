#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace tally::testkit::internal {

/// Runs the CPU's kernel of an operator on the device's memory.
void run_pretend_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                        torch::jit::Stack* stack);

/// Registers the operators that look at how memory is laid out, and
/// run_pretend_kernel for all others.
void register_pretend_operators();

}  // namespace tally::testkit::internal

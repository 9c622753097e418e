#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include "tally/sync/agree.h"
#include "tally/sync/reduction.h"

namespace tally::sync {

/// The reduction of the ranks' tensors, bit-equal everywhere.
at::Tensor reduce(const Call& call, Reduction reduction,
                  c10::function_ref<at::Tensor()> prepare);

/// `sum`, what the ranks' `own` add up to, equal on every rank and without a
/// graph, with the graph of `own`; for losses that every rank computes alike
/// from it. Backward hands `own` `factor` times the gradient and communicates
/// nothing: the number of ranks where parameters' gradients are averaged
/// afterwards, 1 where they are summed. Gradients of gradients are exact too,
/// and take an exchange.
at::Tensor replicated(const Call& call, const at::Tensor& own,
                      const at::Tensor& sum, double factor);

}  // namespace tally::sync

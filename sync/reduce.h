#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include "tally/sync/agree.h"
#include "tally/sync/reduction.h"

namespace tally::sync {

/// The reduction of the ranks' tensors, bit-identical on every rank.
at::Tensor reduce(const Call& call, Reduction reduction,
                  c10::function_ref<at::Tensor()> prepare);

/// Returns `sum`, the sum of the ranks' `own`, equal on every rank and without
/// a graph, with the graph of `own`; for losses that every rank computes from
/// it in the same way. Backward passes `factor` times the gradient to `own`
/// without communication: the number of ranks if parameters' gradients are
/// averaged afterwards, 1 if they are summed. Second-order gradients are also
/// exact, and take one exchange.
at::Tensor replicated(const Call& call, const at::Tensor& own,
                      const at::Tensor& sum, double factor);

}  // namespace tally::sync

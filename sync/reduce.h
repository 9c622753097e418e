#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include "tally/sync/agree.h"
#include "tally/sync/reduction.h"

namespace tally::sync::internal {

/// A c10::ValueError unless such tensors have such a reduction.
void check_reducible(const Call& call, Reduction reduction,
                     const at::Tensor& tensor);

/// The reduction of the ranks' tensors, bit-equal everywhere.
at::Tensor reduce(const Call& call, Reduction reduction,
                  c10::function_ref<at::Tensor()> prepare);

}  // namespace tally::sync::internal

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include "tally/sync/agree.h"
#include "tally/sync/gradient_flow.h"

namespace tally::sync::internal {

/// See average_over_ranks.
at::Tensor average(const Call& call, double count, GradientFlow flow,
                   c10::function_ref<at::Tensor()> prepare);

}  // namespace tally::sync::internal

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <utility>

#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// `own`, summed over the ranks, if every rank computes the same loss from the
/// sum: gradients are exact when averaged, and backward communicates nothing;
/// second-order gradients are exact, and take one exchange. Collective, without
/// checks.
at::Tensor replicated_sum(const sync::Call& call, const at::Tensor& own);

/// Two views of this rank's rows, centered at the mean over all ranks' rows:
/// float32 or wider, and as accurate far from 0 as near it. For second moments:
/// backward assumes that gradients sum to 0 over all rows, as those of products
/// of centered features do, and communicates nothing; second-order gradients
/// take one exchange.
struct CenteredViews {
  at::Tensor a, b;  ///< undefined without rows
  double rows;      ///< of all ranks; 0, or at least 2
};

/// Agrees with the other ranks, which are notified of exceptions of `views`.
/// Throws c10::ValueError on all ranks if they have a single row in total.
CenteredViews centered_views(
    const sync::Call& call,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> views);

/// Throws c10::ValueError if there is only one row, which has no other to
/// compare with.
void check_rows_of_all_ranks(const sync::Call& call, double rows);

/// The loss if no rank has rows: 0, float32 or wider, with zero gradients for
/// those of `inputs` that require one.
at::Tensor loss_without_rows(at::TensorList inputs);

}  // namespace tally::losses::internal

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <utility>

#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// `own`, summed over the ranks, where every rank computes the same loss from
/// the sum: the gradients of averaged parameters are exact, and backward
/// communicates nothing. Collective, without checks.
at::Tensor replicated_sum(const sync::internal::Call& call,
                          const at::Tensor& own);

/// Two views of this rank's rows, about the mean over all ranks' rows: float32
/// or wider. The means carry no graph, so these are for second moments, whose
/// derivative by the mean is 0.
struct CentredViews {
  at::Tensor a, b;
  double rows;  ///< of all ranks
};

/// Agrees with the other ranks; what `views` throws reaches them. Throws
/// c10::ValueError on all ranks if they have less than two rows together.
CentredViews centred_views(
    const sync::internal::Call& call,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> views);

/// A c10::ValueError unless there are two or more.
void check_rows_of_all_ranks(const sync::internal::Call& call, double rows);

}  // namespace tally::losses::internal

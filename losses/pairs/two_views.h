#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <utility>

#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// `own`, summed over the ranks, where every rank computes the same loss from
/// the sum: the gradients of averaged parameters are exact, and backward
/// communicates nothing; gradients of gradients are exact, and take one
/// exchange. Collective, without checks.
at::Tensor replicated_sum(const sync::Call& call, const at::Tensor& own);

/// Two views of this rank's rows, about the mean over all ranks' rows: float32
/// or wider, and as exact far from 0 as near it. For second moments: backward
/// counts on gradients that add up to 0 over all rows, as those of products of
/// centred features do, and communicates nothing; gradients of gradients take
/// one exchange.
struct CentredViews {
  at::Tensor a, b;  ///< undefined without rows
  double rows;      ///< of all ranks; none, or two or more
};

/// Agrees with the other ranks; what `views` throws reaches them. Throws
/// c10::ValueError on all ranks if they have one row together.
CentredViews centred_views(
    const sync::Call& call,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> views);

/// A c10::ValueError if there is one row only, which has none to compare with.
void check_rows_of_all_ranks(const sync::Call& call, double rows);

/// 0, float32 or wider, with zeros as the gradients of those of `inputs` that
/// have one: the loss where no rank has rows.
at::Tensor loss_without_rows(at::TensorList inputs);

}  // namespace tally::losses::internal

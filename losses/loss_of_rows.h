#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include "tally/losses/contrastive/ring.h"
#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// `loss` of the rows of all ranks, which every rank computes from all of them;
/// [M, ...], in rank order. The gradient with respect to `own` is exact when
/// averaged over the ranks; no communication in backward. Second-order
/// gradients are a c10::Error. Collective: ranks have agreed on `rows`.
at::Tensor loss_of_rows(
    const sync::Call& call, const RankRows& rows, const at::Tensor& own,
    c10::function_ref<at::Tensor(const at::Tensor& all)> loss);

}  // namespace tally::losses::internal

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <vector>

#include "tally/losses/common/ring.h"
#include "tally/sync/agree.h"

/// For losses that every rank computes from rows of all ranks.
namespace tally::losses::internal {

/// The rows of all ranks, [M, ...], in rank order, without a graph. Collective,
/// without checks: ranks have agreed on their numbers of rows.
at::Tensor all_rows(const sync::Call& call, const RankRows& rows,
                    const at::Tensor& own);

/// `value`, the same on every rank, whose gradient with respect to this rank's
/// `inputs` is `gradients`: exact when averaged, without communication in
/// backward. The gradients count as constants: correct for second-order
/// gradients only where they are.
at::Tensor replicated_value(const sync::Call& call, const at::Tensor& value,
                            const std::vector<at::Tensor>& inputs,
                            const std::vector<at::Tensor>& gradients);

/// `loss` of the rows of all ranks, which every rank computes from all of them;
/// [M, ...], in rank order. The gradient with respect to `own` is exact when
/// averaged over the ranks; no communication in backward. Second-order
/// gradients are a c10::Error. Collective: ranks have agreed on `rows`.
at::Tensor loss_of_rows(
    const sync::Call& call, const RankRows& rows, const at::Tensor& own,
    c10::function_ref<at::Tensor(const at::Tensor& all)> loss);

}  // namespace tally::losses::internal

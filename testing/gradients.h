#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"

namespace tally::testkit {

/// Fails the test unless a loss over several ranks has the value and the
/// gradients of one process that has the whole batch, however its rows are
/// split: evenly, unevenly, and with an idle last rank (or as options.rows()
/// says). The failure, at the caller's line, is the report of
/// losses::check_distributed_gradients, whose arguments these are: which
/// gradient is off, by what factor, and what to do about it.
///
/// A loss that is not defined for a rank without rows passes `idle_ranks` =
/// false.
///
/// Collective: every rank calls it, with the same batch and parameters. Throws
/// what check_distributed_gradients throws. Rank 0 has the report; other ranks
/// fail with one line.
///
/// Example:
///     losses::MetricLoss mse{MeanSquaredError()};
///     testkit::ExpectGradientsOfOneProcess(
///         [&](const std::vector<at::Tensor>& rows) {
///           return mse->forward(model->forward(rows[0]), rows[1]);
///         },
///         {x, y}, {{"weight", model->linear->weight}});
void ExpectGradientsOfOneProcess(
    const std::function<at::Tensor(const std::vector<at::Tensor>& batch)>& loss,
    const std::vector<at::Tensor>& batch,
    const std::vector<std::pair<std::string, at::Tensor>>& parameters = {},
    const losses::CheckDistributedGradientsOptions& options = {},
    bool idle_ranks = true, const char* file = __builtin_FILE(),
    int line = __builtin_LINE());

}  // namespace tally::testkit

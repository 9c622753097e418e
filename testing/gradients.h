#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"

namespace tally::testkit {

/// Fails the test unless a loss over several ranks has the value and the
/// gradients of a single process with the whole batch, for rows split evenly,
/// unevenly, and with an idle last rank (or according to options.rows()). The
/// failure, at the caller's line, is the report of
/// losses::check_distributed_gradients, which takes the same arguments: which
/// gradient is off, by what factor, and how to fix it.
///
/// For a loss that is undefined for a rank without rows, pass `idle_ranks` =
/// false.
///
/// Collective: every rank calls it, with the same batch and parameters. Throws
/// the errors of check_distributed_gradients. Rank 0 shows the report; other
/// ranks fail with one line.
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

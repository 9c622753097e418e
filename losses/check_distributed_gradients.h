#pragma once

#include <ATen/core/Tensor.h>
#include <torch/arg.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::losses {

/// What training does with the parameters' gradients of the ranks.
enum class GradientReduction { kMean, kSum };

/// How many rows each rank gets.
enum class ShardSizes {
  kEven,    ///< the same, or one more
  kUneven,  ///< the more the higher the rank, at least one if there are enough
  kIdle,    ///< kUneven, and none for the last rank
};

/// Options for check_distributed_gradients.
struct CheckDistributedGradientsOptions {
  /// What is done with the gradients after backward(). Default: kMean, as
  /// sync::average_gradients does.
  TORCH_ARG(GradientReduction, gradients) = GradientReduction::kMean;
  /// How rows are dealt. Default: kUneven; what is exact for even shards only
  /// is found out by it.
  TORCH_ARG(ShardSizes, shards) = ShardSizes::kUneven;
  /// Each rank's number of rows, in place of `shards`. Default: empty.
  TORCH_ARG(std::vector<std::int64_t>, rows) = {};
  /// The largest relative error that counts as exact. Default: 0, which is 1e-9
  /// if all tensors are float64, 1e-4 for float32, 0.05 for narrower ones.
  TORCH_ARG(double, tolerance) = 0;
  /// Compare the gradients of one process, which are what the ranks are held
  /// against, with differences of the loss. Finds a graph that is cut there as
  /// well; takes two more evaluations for each float64 input and parameter, and
  /// leaves out those of other dtypes. To be turned off where that is meant, as
  /// in a straight-through estimator. Default: true.
  TORCH_ARG(bool, check_reference) = true;
  /// Seeds LibTorch's generators before each evaluation. Default: 0.
  TORCH_ARG(std::uint64_t, seed) = 0;
  /// The ranks. Default: null, which is sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

enum class GradientVerdict {
  kExact,
  kFactor,         ///< the right direction, but `factor` times too large
  kFactorPerRank,  ///< the same with a factor of its own for each rank's rows
  kResidual,       ///< another direction: terms are missing or too many
  kNotFinite,      ///< infinite or NaN, in one process or over the ranks
  kNone,           ///< none at all, or 0, here and in one process
  kTooSmall,  ///< differs by less than the rounding errors of larger gradients
};

/// How the ranks' gradient compares with that of one process: it is `factor`
/// times that (the best fit), and off by `residual`, relative to it. NaN where
/// there is nothing to compare.
struct GradientCheck {
  std::string name;
  GradientVerdict verdict = GradientVerdict::kExact;
  double factor = std::numeric_limits<double>::quiet_NaN();
  double residual = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> rank_factors;  ///< of kFactorPerRank; NaN without rows
  /// Ranks whose rows' gradients are kTooSmall, of an input.
  std::vector<int> lost_on_ranks;
  /// Of kNotFinite: "infinite", "NaN", or empty.
  std::string in_one_process, over_ranks;
};

/// What check_distributed_gradients found. `out << report` is a table that says
/// what is wrong and what to do about it.
struct DistributedGradientReport {
  std::vector<std::int64_t> rows;  ///< of each rank
  GradientReduction gradients;
  double tolerance;
  at::ScalarType dtype;             ///< the narrowest of all tensors
  double loss;                      ///< of one process
  std::vector<double> rank_losses;  ///< of each rank
  bool loss_exact;                  ///< their mean is `loss`
  std::vector<GradientCheck> parameters;
  std::vector<GradientCheck> inputs;  ///< "input 0" and so on
  /// Those whose gradient in one process is not the loss's derivative.
  std::vector<std::string> cut_in_reference;
  /// Those of which that was not found out, for their dtype.
  std::vector<std::string> unchecked_in_reference;
  bool same_rows;  ///< every rank with rows has the same

  /// Whether everything that was compared is as in one process, and something
  /// was. Gradients that are kNone or kTooSmall are not compared; the table
  /// names them.
  bool exact() const;
  /// c10::IndexError if there is none of this name.
  const GradientCheck& at(const std::string& name) const;
};

std::ostream& operator<<(std::ostream& out,
                         const DistributedGradientReport& report);

/// Compares a loss's gradients on all ranks with those of one process that has
/// the whole batch, and says for each parameter and input: exact, off by a
/// factor, or in another direction.
///
/// `loss` maps a batch to one number. It is called on every rank: with the
/// whole batch and a default communicator of one process, then with this rank's
/// rows and the ranks as default communicator, which it must use. The batch's
/// tensors are copies; the floating ones require gradients.
///
/// The parameters' gradients are averaged or summed over the ranks, as the
/// options say; inputs' are compared rank by rank too. A gradient that is not
/// there in one process either, or not finite, is named as such, and never
/// counts as exact. With GradientReduction::kSum
/// the ranks' losses may also add up to the whole one. float64 is recommended:
/// in float32 an error below 1e-4 is not seen. Parameters' grad() is left as it
/// was; whatever else the loss changes happens at each call.
///
/// Collective: every rank passes the same batch and parameters, of equal
/// values, or all throw sync::SyncError kMismatch. What `loss` throws on one
/// rank is thrown there, and kPeerFailed with its text on the others. A module
/// gives its parameters as `named_parameters().pairs()`.
///
/// Example:
///     losses::MetricLoss mse{MeanSquaredError()};
///     const auto report = losses::check_distributed_gradients(
///         [&](const std::vector<at::Tensor>& rows) {
///           return mse->forward(model->forward(rows[0]), rows[1]);
///         },
///         {x, y}, {{"weight", model->linear->weight}});
///     EXPECT_TRUE(report.exact()) << report;
DistributedGradientReport check_distributed_gradients(
    const std::function<at::Tensor(const std::vector<at::Tensor>& batch)>& loss,
    const std::vector<at::Tensor>& batch,
    const std::vector<std::pair<std::string, at::Tensor>>& parameters,
    const CheckDistributedGradientsOptions& options = {});

}  // namespace tally::losses

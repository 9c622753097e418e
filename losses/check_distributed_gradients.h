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

/// How training combines the ranks' gradients of the parameters.
enum class GradientReduction { kMean, kSum };

/// The number of rows on each rank.
enum class ShardSizes {
  kEven,    ///< equal, up to one row
  kUneven,  ///< increasing with the rank; at least one if there are enough
  kIdle,    ///< kUneven, with none on the last rank
};

/// Options for check_distributed_gradients.
struct CheckDistributedGradientsOptions {
  /// How the gradients are combined after backward(). Default: kMean, as by
  /// sync::average_gradients.
  TORCH_ARG(GradientReduction, gradients) = GradientReduction::kMean;
  /// How rows are distributed. Default: kUneven, which detects losses that are
  /// exact only for even shards.
  TORCH_ARG(ShardSizes, shards) = ShardSizes::kUneven;
  /// Each rank's number of rows, overriding `shards`.
  TORCH_ARG(std::vector<std::int64_t>, rows) = {};
  /// The largest relative error considered exact. Default: 0, which means 1e-9
  /// if all tensors are float64, 1e-4 for float32, 0.05 for narrower ones.
  TORCH_ARG(double, tolerance) = 0;
  /// Compare the reference, the gradients of one process, with finite
  /// differences of the loss. Detects a graph that is cut there as well; takes
  /// two additional evaluations for each float64 input and parameter, and skips
  /// other dtypes. Disable it if that is intended, as in a straight-through
  /// estimator.
  TORCH_ARG(bool, check_reference) = true;
  /// Seed of LibTorch's generators before each evaluation.
  TORCH_ARG(std::int64_t, seed) = 0;
  /// The ranks. Default: null, which is sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

enum class GradientVerdict {
  kExact,
  kFactor,         ///< the right direction, but `factor` times too large
  kFactorPerRank,  ///< the same with a different factor for each rank's rows
  kResidual,       ///< another direction: terms are missing or superfluous
  kNotFinite,      ///< infinite or NaN, in one process or over the ranks
  kNone,           ///< no gradient, or 0, here and in one process
  kTooSmall,  ///< differs by less than the rounding errors of larger gradients
};

/// Comparison of the ranks' gradient with that of one process: it is `factor`
/// times that (the best fit), and off by `residual`, relative to it. NaN if
/// there is nothing to compare.
struct GradientCheck {
  std::string name;
  GradientVerdict verdict = GradientVerdict::kExact;
  double factor = std::numeric_limits<double>::quiet_NaN();
  double residual = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> rank_factors;  ///< of kFactorPerRank; NaN without rows
  /// For an input, the ranks whose rows' gradients are kTooSmall.
  std::vector<int> lost_on_ranks;
  /// For kNotFinite: "infinite", "NaN", or empty.
  std::string in_one_process, over_ranks;
};

/// The result of check_distributed_gradients. `out << report` prints a table of
/// problems and remedies.
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
  /// Tensors whose gradient in one process is not the loss's derivative.
  std::vector<std::string> cut_in_reference;
  /// Tensors for which that was not checked, because of their dtype.
  std::vector<std::string> unchecked_in_reference;
  bool same_rows;  ///< whether all ranks with rows have the same ones

  /// Whether at least one gradient was compared, and all compared ones equal
  /// those of one process. Gradients that are kNone or kTooSmall are not
  /// compared; the table lists them.
  bool exact() const;
  /// Throws c10::IndexError for an unknown name.
  const GradientCheck& at(const std::string& name) const;
};

std::ostream& operator<<(std::ostream& out,
                         const DistributedGradientReport& report);

/// Compares a loss's gradients on all ranks with those of a single process with
/// the whole batch, and reports for each parameter and input: exact, off by a
/// factor, or in another direction.
///
/// `loss` maps a batch to one number. It is called on every rank: with the
/// whole batch and a single-process default communicator, then with this rank's
/// rows and the ranks as default communicator, which it must use. The batch's
/// tensors are copies; floating-point ones require gradients.
///
/// The parameters' gradients are averaged or summed over the ranks, according
/// to the options; those of inputs are also compared per rank. A gradient that
/// is missing in one process as well, or not finite, is reported as such, and
/// never counts as exact. With GradientReduction::kSum the ranks' losses may
/// also add up to the total loss. float64 is recommended: in float32 an error
/// below 1e-4 is not detected. Parameters' grad() is restored; other side
/// effects of the loss happen at each call.
///
/// Collective: every rank passes the same batch and parameters, with equal
/// values, or all throw sync::SyncError kMismatch. An exception of `loss` on
/// one rank is thrown there, and kPeerFailed with its text on the others. For a
/// module, pass `named_parameters().pairs()`.
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

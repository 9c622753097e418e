#pragma once

#include <ATen/core/Formatting.h>
#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/arg.h>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tally/losses/check_distributed_gradients.h"
#include "tally/metrics/results.h"
#include "tally/sync/communicator.h"
#include "tally/testing/compare.h"

/// Matchers for tensors, and for results over several ranks.
namespace tally::testkit {

namespace internal {

class NearMatcher {
 public:
  NearMatcher(Results expected, std::optional<Tolerance> tolerance);

  bool MatchAndExplain(const at::Tensor& actual,
                       ::testing::MatchResultListener* listener) const;
  bool MatchAndExplain(const Results& actual,
                       ::testing::MatchResultListener* listener) const;
  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  Results expected_;
  std::optional<Tolerance> tolerance_;
};

class SameOnAllRanksMatcher {
 public:
  explicit SameOnAllRanksMatcher(std::shared_ptr<sync::Communicator> ranks)
      : communicator_(std::move(ranks)) {}

  bool MatchAndExplain(const at::Tensor& value,
                       ::testing::MatchResultListener* listener) const;
  bool MatchAndExplain(const Results& value,
                       ::testing::MatchResultListener* listener) const;
  void DescribeTo(std::ostream* out) const;
  void DescribeNegationTo(std::ostream* out) const;

 private:
  std::shared_ptr<sync::Communicator> communicator_;
};

}  // namespace internal

/// Matches a tensor of the same dtype and shape whose values are within atol +
/// rtol * |expected|. NaN equals NaN; infinities must be equal. Without
/// tolerances: default_tolerance() of the expected dtype. The message shows the
/// first positions that differ and the largest absolute and relative errors.
///
/// `expected` may also be Results, such as those of a collection, with the same
/// names in the same order.
///
/// Example:
///     EXPECT_THAT(metric.compute().value(), testkit::Near(value, 1e-6, 0));
::testing::PolymorphicMatcher<internal::NearMatcher> Near(
    const at::Tensor& expected);
::testing::PolymorphicMatcher<internal::NearMatcher> Near(
    const at::Tensor& expected, double rtol, double atol);
::testing::PolymorphicMatcher<internal::NearMatcher> Near(Results expected);
::testing::PolymorphicMatcher<internal::NearMatcher> Near(Results expected,
                                                          double rtol,
                                                          double atol);

/// Matches a tensor, or Results, that is the same on every rank, bit by bit,
/// with the same dtype and shape. The message names the ranks that differ from
/// the others, and the positions.
///
/// Collective: every rank evaluates it. Null: sync::default_communicator().
///
/// Example: `EXPECT_THAT(preds, testkit::SameOnAllRanks());`
::testing::PolymorphicMatcher<internal::SameOnAllRanksMatcher> SameOnAllRanks(
    std::shared_ptr<sync::Communicator> communicator = nullptr);

/// The value that a function over several ranks returns on each of them.
enum class RankValue {
  kOfAllRows,  ///< the value of all ranks' rows, the same on each rank
  kOfOwnRows,  ///< one row for each of its own rows
};

/// Options for EqualsOneProcess.
struct OneProcessOptions {
  /// Default: kOfAllRows, such as a loss or a synced metric.
  TORCH_ARG(RankValue, value) = RankValue::kOfAllRows;
  /// The tolerance for values. Default: empty, which means default_tolerance().
  TORCH_ARG(std::optional<Tolerance>, tolerance) = std::nullopt;
  /// Whether the ranks' gradients are averaged or summed to give those of one
  /// process. Default: empty, which means kMean for kOfAllRows, otherwise kSum.
  TORCH_ARG(std::optional<losses::GradientReduction>, gradients) = std::nullopt;
  /// Compare gradients of floating-point rows, if the value has any. Default:
  /// true.
  TORCH_ARG(bool, check_gradients) = true;
  /// Include splits in which a rank has no rows. Default: true.
  TORCH_ARG(bool, idle_ranks) = true;
  /// The ranks. Default: null, which is sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
};

/// Whether `function` gives the same value and gradients for every split of
/// `rows` over the ranks: even, uneven, with an idle first or last rank, with a
/// single row on one rank.
///
/// `function` maps rows to a tensor. On every rank it is called with all rows
/// and a single-process default communicator, and with this rank's rows and the
/// ranks as default communicator. Gradients are those of a weighted sum of the
/// value (see losses::check_distributed_gradients). The message names the
/// split, the ranks and what differs; it is the same on every rank.
///
/// Collective: every rank passes the same rows. Throws c10::ValueError for
/// inconsistent rows, and exceptions of `function`, which are a SyncError on
/// the other ranks.
///
/// Example:
///     EXPECT_TRUE(testkit::EqualsOneProcess(
///         [](const std::vector<at::Tensor>& rows) {
///           MeanMetric mean;
///           mean.update(rows[0]);
///           return mean.compute();
///         },
///         {x}));
::testing::AssertionResult EqualsOneProcess(
    const std::function<at::Tensor(const std::vector<at::Tensor>& rows)>&
        function,
    const std::vector<at::Tensor>& rows, const OneProcessOptions& options = {});

}  // namespace tally::testkit

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/metrics/options.h"
#include "tally/tests/testing/fixtures.h"

namespace tally::testkit {

/// What check_metric() must know of a metric beyond its fixture.
struct HarnessOptions {
  /// Options of the fixture that the metric does not have, for example "input".
  std::set<std::string> strip_options = {};
  /// Changes a case's options before they are parsed, after strip_options.
  std::function<void(const FixtureCase&, OptionTexts&)> adapt_options = {};
  /// The MetricOptions of a case, without a communicator.
  std::function<MetricOptions(const FixtureCase&)> metric_options = {};
  /// Makes what the metric takes of the rows of ragged inputs.
  RaggedInput ragged_input = {};
  /// Cases to leave out.
  std::set<std::string> skip_cases = {};
  /// Instead of the fixture's tolerances to the reference.
  std::optional<double> rtol = std::nullopt;
  std::optional<double> atol = std::nullopt;
  /// How near values of split data must be to those of one process; relative,
  /// and for values near 0 relative to the largest input times 1e-2.
  double split_rtol = 1e-12;
  /// Whether update() takes batches of no rows.
  bool takes_empty_batches = true;
  /// Whether the order of the rows shows in the result; if not, rows are dealt
  /// to ranks in turn, too.
  bool order_matters = false;
  /// How near values by different numbers of threads must be, measured like
  /// split_rtol; 0: the same bits. For sums that are LibTorch's, see
  /// docs/numerics.md.
  double threads_rtol = 0;
  /// Whether there is time for the law on threads, which takes the rows of a
  /// case so often that threads share them.
  bool checks_threads = true;
  /// Whether no prediction compares better than the target itself.
  bool target_is_best = true;
  /// Whether a result has the dimensions of what was given, behind the first.
  bool gives_back = false;
  /// Whether something is meant to outlast reset().
  bool outlasts_reset = false;
  /// The inputs that the value of a differentiable metric has a gradient for.
  std::vector<std::size_t> differentiable_inputs = {0};
  /// Cases whose gradients are not compared: at kinks of the value.
  std::set<std::string> skip_gradients = {};
};

using MetricFactory = std::function<std::unique_ptr<Metric>(
    const OptionTexts&, const MetricOptions&)>;

/// See check_metric().
void check_fixture(const std::string& fixture, const MetricFactory& factory,
                   const HarnessOptions& options);
/// The same for a case that stands in the test.
void check_case(const FixtureCase& one, const MetricFactory& factory,
                const HarnessOptions& options = {});

/// Checks, for every case of tests/reference/data/<fixture>.json, the value
/// over all batches, with its shape and dtype, and that every MetricLaw holds.
///
/// Failures say case, law and rank. M::Options are default-constructible.
///
/// Example:
///     TEST(MulticlassAccuracyTest, PassesTheHarness) {
///       HarnessOptions options;
///       options.strip_options = {"input"};
///       check_metric<MulticlassAccuracy>("MulticlassAccuracy", options);
///     }
template <class M>
void check_metric(const std::string& fixture,
                  const HarnessOptions& options = {}) {
  check_fixture(
      fixture,
      [](const OptionTexts& texts,
         const MetricOptions& metric_options) -> std::unique_ptr<Metric> {
        auto parsed = tally::internal::unset_options<typename M::Options>();
        parse_options(parsed, M::kName, texts);
        return std::make_unique<M>(parsed, metric_options);
      },
      options);
}

}  // namespace tally::testkit

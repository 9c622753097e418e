#pragma once

#include <c10/core/Device.h>
#include <torch/arg.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/testing/generators.h"

/// Laws that every metric must obey, checked on generated inputs: the tests
/// that a custom metric needs in addition to those of its values.
namespace tally::testkit {

/// In the order of the checks.
enum class MetricLaw {
  /// Modifying an input or a result afterwards does not affect the metric, and
  /// the metric does not modify its inputs.
  kAliases,
  /// Merging with a fresh metric, on either side, changes nothing.
  kIdentity,
  /// (a + b) + c equals a + (b + c), and has the value of all rows.
  kAssociativity,
  /// forward() returns its batch's value and accumulates what update() would.
  kForward,
  /// Bytes and files restore every bit; truncated bytes are rejected.
  kSaveAndLoad,
  /// A clone is equal; updates of one do not affect the other.
  kClone,
  /// After reset() the metric is like a fresh one.
  kReset,
  /// Non-contiguous inputs give the same value.
  kLayout,
  /// No prediction compares better than the target itself. Checked for metrics
  /// whose declared inputs preds and target have one shape and are both
  /// floating-point or both not, and that say whether higher is better, on a
  /// seeded family of predictions between the target and others, as far as the
  /// metric takes them.
  kBest,
  /// A rejected batch changes nothing, on any rank.
  kBadInput,
  /// Any split over ranks gives the value of one process, bit-identical on all
  /// ranks; unsync() restores every bit.
  kSplits,
  /// The same for forward() with dist_sync_on_step.
  kSyncedForward,
  /// Values stay bit-identical if one rank records a graph or is in inference
  /// mode.
  kMixedRanks,
  /// Updates in c10::InferenceMode give the same bits.
  kInference,
  /// 1, 2 and 5 threads give the same bits, or values within
  /// MetricLawOptions::threads_rtol (see MetricLawOptions::check_threads).
  kThreads,
  /// Gradients of forward() equal numerical ones, and over ranks those of one
  /// process; a metric that is not differentiable has none.
  kGradients,
  /// With inputs on MetricLawOptions::device, values are those of the CPU and
  /// are on the device: after updates, forward(), merging, loading and over two
  /// ranks, of which one may have no data and gets the same bits. A batch on
  /// the CPU is refused then, and what to(device) has moved stays there.
  kDevice,
};

/// For example "associativity".
const char* to_string(MetricLaw law);
std::ostream& operator<<(std::ostream& out, MetricLaw law);

/// Options for check_metric_laws.
struct MetricLawOptions {
  /// The first seed. Default: 0.
  TORCH_ARG(std::int64_t, seed) = 0;
  /// Number of seeds to try. Default: 3.
  TORCH_ARG(std::int64_t, rounds) = 3;
  /// Rows generated for each seed. Default: 24.
  TORCH_ARG(std::int64_t, rows) = 24;
  /// Numbers of ranks, which are threads. Default: 1, 2, 3, 5.
  TORCH_ARG(std::vector<int>, ranks) = {1, 2, 3, 5};
  /// Tolerance between values of split data and those of one process: relative,
  /// and for values near 0 relative to the largest input times 0.01. Default:
  /// 1e-9, for metrics that accumulate in float64.
  TORCH_ARG(double, rtol) = 1e-9;
  /// Laws to skip. Default: none.
  TORCH_ARG(std::vector<MetricLaw>, without) = {};
  /// Whether update() accepts batches without rows. Default: true.
  TORCH_ARG(bool, takes_empty_batches) = true;
  /// Whether the order of the rows may change the value. Default: false.
  TORCH_ARG(bool, order_matters) = false;
  /// Check kThreads. LibTorch's sums depend on the number of threads, so most
  /// metrics that use them break it. Default: false.
  TORCH_ARG(bool, check_threads) = false;
  /// Tolerance between values by different numbers of threads, measured like
  /// `rtol`. Default: 0, the same bits.
  TORCH_ARG(double, threads_rtol) = 0;
  /// The device of kDevice: testkit::pretend_device(), or a GPU. Default: none,
  /// and kDevice is not checked.
  TORCH_ARG(std::optional<c10::Device>, device) = {};
  /// Inputs with respect to which a differentiable metric has a gradient.
  /// Default: the first.
  TORCH_ARG(std::vector<std::size_t>, differentiable_inputs) = {0};
  /// Batches that update() must reject, in addition to the built-in ones:
  /// missing inputs, another type or shape, fewer rows, labels out of range,
  /// NaN (which it may accept). Default: none.
  TORCH_ARG(std::vector<BatchGenerator>, bad_inputs) = {};
  /// Options of the metric, without a communicator.
  TORCH_ARG(MetricOptions, metric_options) = {};
};

/// Creates the metric to check, always with the same specific options.
using MetricMaker =
    std::function<std::unique_ptr<Metric>(const MetricOptions& options)>;

/// Fails the test unless the metric obeys every MetricLaw on random batches of
/// `generator`. Ranks are threads of this process, so the test is an ordinary
/// TEST.
///
/// The failure, at the caller's line, names the first broken law and the
/// difference, after removing rows and ranks for as long as it fails in the
/// same way. It includes a test with these inputs to paste, and names the other
/// broken laws.
///
/// Example:
///     testkit::check_metric_laws<MeanSquaredError>(
///         testkit::batch_of({testkit::reals(), testkit::reals()}));
void check_metric_laws(const MetricMaker& make, const BatchGenerator& generator,
                       const MetricLawOptions& options = {},
                       const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());

/// Checks one law on these rows; used in the test that check_metric_laws
/// prints.
///
/// Example:
///     testkit::check_metric_law<MeanSquaredError>(
///         testkit::MetricLaw::kSplits,
///         {at::zeros({2}, at::kDouble), at::ones({2}, at::kDouble)},
///         testkit::MetricLawOptions().ranks({2}));
void check_metric_law(const MetricMaker& make, MetricLaw law, const Batch& rows,
                      const MetricLawOptions& options = {},
                      const char* file = __builtin_FILE(),
                      int line = __builtin_LINE());

namespace internal {

/// The names used in the text of a printed test.
struct LawCaller {
  std::string suite;   ///< "MeanErrorLaws"
  std::string metric;  ///< "<MeanError>" or "", after the function's name
  std::string maker;   ///< "" or "make, "
  const char* file;
  int line;
};
LawCaller caller_of(const std::type_info& metric, const char* file, int line);

void check_metric_laws(const MetricMaker& make, const BatchGenerator& generator,
                       const MetricLawOptions& options,
                       const LawCaller& caller);
void check_metric_law(const MetricMaker& make, MetricLaw law, const Batch& rows,
                      const MetricLawOptions& options, const LawCaller& caller);

template <class M>
std::unique_ptr<Metric> make_metric(const MetricOptions& options) {
  if constexpr (std::is_constructible_v<M, typename M::Options,
                                        MetricOptions>) {
    return std::make_unique<M>(typename M::Options(), options);
  } else {
    auto metric = std::make_unique<M>();
    metric->set_metric_options(options);
    return metric;
  }
}

}  // namespace internal

/// For a metric with default options; others need a MetricMaker.
template <class M>
void check_metric_laws(const BatchGenerator& generator,
                       const MetricLawOptions& options = {},
                       const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  internal::check_metric_laws(internal::make_metric<M>, generator, options,
                              internal::caller_of(typeid(M), file, line));
}

template <class M>
void check_metric_law(MetricLaw law, const Batch& rows,
                      const MetricLawOptions& options = {},
                      const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  internal::check_metric_law(internal::make_metric<M>, law, rows, options,
                             internal::caller_of(typeid(M), file, line));
}

}  // namespace tally::testkit

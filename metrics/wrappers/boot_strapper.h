#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/metrics/resampling/sample_ids.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// How BootStrapper resamples a batch of n rows.
enum class SamplingStrategy {
  kPoisson,      ///< each row a Poisson-distributed (mean 1) number of times
  kMultinomial,  ///< n rows with replacement
};

template <>
struct EnumNames<SamplingStrategy> {
  static constexpr const char* kNames[] = {"poisson", "multinomial"};
};

/// Options of BootStrapper.
struct BootStrapperOptions {
  BootStrapperOptions() : num_bootstraps_(10) {}
  template <class Count, RequireCount<Count> = 0>
  BootStrapperOptions(Count num_bootstraps)
      : num_bootstraps_(static_cast<std::int64_t>(num_bootstraps)) {}
  /// Default: 10.
  TORCH_ARG(std::int64_t, num_bootstraps);
  /// The results to return. Default: mean and std.
  TORCH_ARG(bool, mean) = true;
  TORCH_ARG(bool, std) = true;
  /// Each in [0, 1]. Default: none.
  TORCH_ARG(std::vector<double>, quantile);
  TORCH_ARG(bool, raw) = false;
  /// Default: kPoisson, for which the distribution does not depend on the batch
  /// size.
  TORCH_ARG(SamplingStrategy, sampling_strategy) = SamplingStrategy::kPoisson;
  /// Seed of the random number generator.
  TORCH_ARG(std::int64_t, seed) = 0;

 public:
  void visit(OptionVisitor& v);
  void validate(const char* metric) const;
};

/// The sampling variability of a metric: its values over resampled copies of
/// the data.
///
/// update(): as for the metric, and optionally the rows' ids: the input `ids`,
/// int [N] or texts, or by position a SampleIds. Tensors and lists (of texts,
/// of images) have the same number of rows, which are resampled together;
/// additional 0-dim tensors are passed on. If all inputs are 0-dim, they are
/// one row.
/// Result: "mean" and "std" (unbiased; NaN for one copy) over the copies,
/// "quantile" [number of quantiles, ...] (interpolated), "raw" [num_bootstraps,
/// ...]; "part.mean" and so on for a metric with several results.
/// State: that of the metric, once per copy.
///
/// With ids, a row occurs in a copy as often as ReplicateWeights(seed,
/// kPoisson) says of its id: any order of the rows, and any split over batches,
/// ranks and processes, resamples the same. Rows with equal ids, such as those
/// of a user, are drawn together. Ids are not stored, so that nothing detects a
/// row that comes twice. kMultinomial, which draws from a batch as a whole,
/// takes none.
///
/// Without, a row's id is that of its rank, update and place: runs are
/// reproducible on any machine, and ranks resample independently. Metrics
/// merged by merge_state need different seeds.
///
/// NaN and empty inputs are handled by the metric.
/// Errors: those of the metric, independent of the resampling; c10::ValueError
/// for different numbers of rows or ids, for ids with kMultinomial, and for a
/// metric that stores computed values; c10::TypeError for inputs that are
/// neither tensors nor lists, and ids that are neither integers nor texts. Not
/// differentiable.
///
/// Example:
///     BootStrapper accuracy(MulticlassAccuracy(10), 50);
///     SampleIds ids(at::arange(preds.size(0)));  // numbers in the data set
///     accuracy.update(ids, preds, target);
///     at::Tensor error = accuracy.compute()["std"];
class BootStrapper final : public MetricWrapper {
 public:
  using Options = BootStrapperOptions;
  static constexpr const char* kName = "BootStrapper";
  static constexpr MetricSummary kSummary{
      "Bootstrap mean and standard deviation of a metric.",
      "any",
      "metric=MeanSquaredError()",
      "bootstrap, bootstrapping",
      "",
      "Efron 1979"};

  explicit BootStrapper(OwnedMetric metric, Options options = {});

  const Options& options() const { return options_; }

  std::string name() const override { return kName; }
  /// Adds `ids`, unless the metric has such an input or declares none.
  static void change_inputs(std::vector<InputInfo>& inputs);
  c10::ArrayRef<InputInfo> inputs() const override { return inputs_; }
  bool is_differentiable() const override { return false; }
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override;
  void evaluate_into(const AnyState& state, const std::string& name,
                     Results& results) const override;

 protected:
  std::string options_text() const override { return options_repr(options_); }
  StateKey key() const override;
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<BootStrapper>(std::move(metric), options_);
  }

 private:
  // Leaves the metric's inputs.
  std::optional<SampleIds> take_ids(std::vector<InputRef>& inputs) const;

  Options options_;
  std::vector<InputInfo> inputs_;
};

}  // namespace tally

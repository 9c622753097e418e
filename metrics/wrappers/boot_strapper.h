#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// How BootStrapper draws a batch of n rows anew.
enum class SamplingStrategy {
  kPoisson,      ///< each row as often as a Poisson number of mean 1 says
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
  /// Which results to give. Default: mean and std.
  TORCH_ARG(bool, mean) = true;
  TORCH_ARG(bool, std) = true;
  /// Each in [0, 1]. Default: none.
  TORCH_ARG(std::vector<double>, quantile);
  TORCH_ARG(bool, raw) = false;
  /// Default: kPoisson, with which batches of any size give what all their rows
  /// at once would give.
  TORCH_ARG(SamplingStrategy, sampling_strategy) = SamplingStrategy::kPoisson;
  /// Of the random numbers. Default: 0.
  TORCH_ARG(std::int64_t, seed) = 0;

 public:
  void visit(OptionVisitor& v);
  void validate(const char* metric) const;
};

/// How much a metric's value depends on the sample: its values over resampled
/// copies of the data.
///
/// update(): as the metric's. Tensors and lists (of texts, of images) have the
/// same number of rows, which are drawn together; 0-dim tensors beside them are
/// passed on. 0-dim inputs alone are one row.
/// Result: "mean" and "std" (unbiased; NaN of one copy) over the copies,
/// "quantile" [number of quantiles, ...] (interpolated), "raw"
/// [num_bootstraps, ...]; of a metric with several results "part.mean" and so
/// on.
/// State: the metric's, once for each copy. What is drawn depends on seed, rank
/// and number of the update alone: a run gives the same on any machine, and
/// ranks draw independently of each other. Metrics merged by merge_state need
/// seeds of their own.
/// NaN and empty behaviour are those of the metric.
/// Errors: those of the metric, whatever is drawn; c10::ValueError for another
/// number of rows and for a metric that remembers what it computed;
/// c10::TypeError for inputs that are neither tensors nor lists. Not
/// differentiable.
///
/// Example:
///     BootStrapper accuracy(MulticlassAccuracy(10), 50);
///     accuracy.update(preds, target);
///     at::Tensor error = accuracy.compute()["std"];
class BootStrapper final : public MetricWrapper {
 public:
  using Options = BootStrapperOptions;
  static constexpr const char* kName = "BootStrapper";

  explicit BootStrapper(OwnedMetric metric, Options options = {});

  const Options& options() const { return options_; }

  std::string name() const override { return kName; }
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
  Options options_;
};

}  // namespace tally

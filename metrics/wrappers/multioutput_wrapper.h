#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/options.h"
#include "tally/metrics/wrappers/wrapper_metric.h"

namespace tally {

/// Options of MultioutputWrapper.
struct MultioutputWrapperOptions {
  template <class Count, RequireCount<Count> = 0>
  MultioutputWrapperOptions(Count num_outputs)
      : num_outputs_(static_cast<std::int64_t>(num_outputs)) {}
  explicit MultioutputWrapperOptions(internal::Unset) : num_outputs_(0) {}
  TORCH_ARG(std::int64_t, num_outputs);
  /// The dimension of the inputs that holds the outputs. Default: -1, the last.
  TORCH_ARG(std::int64_t, output_dim) = -1;
  /// Ignore rows in which an input has NaN, separately for each output.
  /// Default: true. On a GPU this synchronizes in every update.
  TORCH_ARG(bool, remove_nans) = true;
  TORCH_ARG(bool, squeeze_outputs) = true;

 public:
  void visit(OptionVisitor& v) {
    v("num_outputs", num_outputs_, OptionRole::kSize,
      "Number of outputs, each with its own metric.");
    v("output_dim", output_dim_,
      "Dimension of the inputs that holds the outputs.");
    v("remove_nans", remove_nans_,
      "Drop rows with NaN, for each output separately.");
    v("squeeze_outputs", squeeze_outputs_,
      "Remove the dimension of the outputs.");
  }
  void validate(const char* metric) const;
};

/// A separate metric for each output of a multi-output model.
///
/// update(): as for the metric, but tensors have an additional dimension of
/// size num_outputs. Tensors with fewer dimensions than the first (such as
/// weights of rows) apply to every output, except a second input with labels
/// for class scores: it has one dimension less, but at least two, and size
/// num_outputs in that of the outputs. Later inputs are then compared with the
/// second.
/// Result: the metric's values as a tensor [num_outputs, ...].
/// State: that of the metric, once per output.
/// NaN: see remove_nans; an output without remaining rows has an empty state.
/// Empty inputs are handled by the metric.
/// Errors: c10::ValueError for another number of outputs, and if values have
/// different sizes; c10::TypeError for inputs that are not tensors.
/// Differentiable if the metric is.
///
/// Example:
///     MultioutputWrapper error(PearsonCorrCoef(), 2);
///     error.update(preds, target);  // [N, 2] each
///     at::Tensor of_outputs = error.compute().value();  // [2]
class MultioutputWrapper final : public MetricWrapper {
 public:
  using Options = MultioutputWrapperOptions;
  static constexpr const char* kName = "MultioutputWrapper";
  static constexpr MetricSummary kSummary{
      "One metric for each of several outputs.", "any",
      "metric=MeanSquaredError(), num_outputs=2",
      "several outputs, multi-output"};

  MultioutputWrapper(OwnedMetric metric, Options options);

  const Options& options() const { return options_; }

  std::string name() const override { return kName; }
  void observe_into(AnyState& fresh, Inputs inputs,
                    const BatchOrigin& origin) const override;
  AnyState make_kept() const override;
  void compute_into(const AnyState& state, AnyState& kept,
                    const std::string& name, Results& results) const override;

 protected:
  std::string options_text() const override { return options_repr(options_); }
  StateKey key() const override;
  std::unique_ptr<MetricWrapper> around(
      std::unique_ptr<Metric> metric) const override {
    return std::make_unique<MultioutputWrapper>(std::move(metric), options_);
  }

 private:
  at::Tensor output_of(const at::Tensor& input, std::int64_t output) const;
  // Minimum number of dimensions of an input with outputs.
  std::int64_t dims_with_outputs(const std::vector<at::Tensor>& inputs) const;

  Options options_;
};

}  // namespace tally

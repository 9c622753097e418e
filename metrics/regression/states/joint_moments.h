#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/metric_options.h"
#include "tally/metrics/regression/inputs/declared_inputs.h"
#include "tally/metrics/regression/inputs/output_checks.h"
#include "tally/state/fields.h"

namespace tally {

namespace internal::regression {
/// Whether metrics with these options need the range of the targets;
/// specialized for those that do.
template <class Options>
struct KeepsRange {
  static bool of(const Options&) { return false; }
};
}  // namespace internal::regression

/// Weighted means of predictions and targets, sums of squares and products of
/// deviations from them, and of squared errors: the observer of all metrics
/// that are functions of these. In a collection, metrics with equal
/// `num_outputs` share it.
///
/// float64; merged by the formula of Chan, Golub and LeVeque (1983): large
/// offsets cost no precision, and constant data has a variance of exactly 0.
class JointMoments {
 public:
  static constexpr const char* kName = "JointMoments";
  static constexpr const auto& kInputs =
      internal::regression::kWeightedColumnInputs;
  struct State {
    std::int64_t total = 0;
    Number weight;  // the number of samples, or the sum of their weights
    // For one output.
    Number mean_preds, mean_target;
    Number squares_preds, squares_target, products;
    Number squared_error;
    at::Tensor outputs;  // the same for several, as [6, num_outputs]
    at::Tensor range;    // [2, num_outputs]: the lowest and highest targets

    void fields(Fields& f) {
      f("total", total)("weight", weight);
      f("mean_preds", mean_preds)("mean_target", mean_target);
      f("squares_preds", squares_preds)("squares_target", squares_target);
      f("products", products)("squared_error", squared_error);
      f("outputs", outputs)("range", range);
    }
    bool has_nan() const;
    static State merge(const State& a, const State& b);
  };

  template <class Options>
  JointMoments(const Options& options, const MetricOptions& metric_options)
      : JointMoments(options.num_outputs(),
                     internal::regression::KeepsRange<Options>::of(options),
                     metric_options) {}
  JointMoments(std::int64_t num_outputs, bool keep_range,
               const MetricOptions& metric_options)
      : num_outputs_(num_outputs),
        keep_range_(keep_range),
        nan_policy_(metric_options.nan_policy()),
        validate_(metric_options.validate_args()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  std::int64_t num_outputs_;
  bool keep_range_;
  NanPolicy nan_policy_;
  bool validate_;
};

namespace internal::regression {

/// The moments of one output, or of several at once as tensors.
template <class T>
struct Moments {
  T mean_preds{}, mean_target{};
  T squares_preds{}, squares_target{}, products{};
  T squared_error{};
};

/// The rows of State::outputs.
constexpr std::int64_t kMomentRows = 6;
constexpr std::int64_t kSquaresTargetRow = 3;

bool are_plain(const JointMoments::State& state);
Moments<double> plain_moments_of(const JointMoments::State& state);
Moments<double> moments_of_output(const JointMoments::State& state,
                                  std::int64_t output);
Moments<at::Tensor> moments_of(const JointMoments::State& state);
at::Tensor empty_outputs(std::int64_t num_outputs);

/// `formula(moments, weight)`, which accepts numbers and tensors, for each
/// output: 0-dim or [num_outputs]. NaN for fewer samples than `least_samples`.
template <class Formula>
at::Tensor evaluate_moments(const JointMoments::State& state,
                            std::int64_t num_outputs,
                            std::int64_t least_samples,
                            const Formula& formula) {
  const bool is_defined = state.total >= least_samples;
  if (are_plain(state)) {
    if (num_outputs == 1) {
      const double value =
          formula(plain_moments_of(state), state.weight.value());
      return undefined_unless(is_defined, Number(value));
    }
    at::Tensor values = empty_outputs(num_outputs);
    double* const to = values.mutable_data_ptr<double>();
    if (!state.outputs.defined()) return undefined_unless(false, values);
    for (std::int64_t i = 0; i < num_outputs; ++i) {
      to[i] = formula(moments_of_output(state, i), state.weight.value());
    }
    return undefined_unless(is_defined, values);
  }
  return undefined_unless(is_defined,
                          formula(moments_of(state), state.weight.tensor()));
}

}  // namespace internal::regression
}  // namespace tally

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/metrics/regression/inputs/declared_inputs.h"
#include "tally/metrics/sampling.h"
#include "tally/state/fields.h"

namespace tally {

/// The state of metrics that average an error over samples, merged by addition.
struct ErrorState {
  Number sum;              // of weight * error of one output
  Number weight;           // the number of samples, or the sum of their weights
  at::Tensor output_sums;  // [num_outputs], with several outputs

  void fields(Fields& f) {
    f("sum", sum)("weight", weight)("output_sums", output_sums);
  }
  bool has_nan() const;
};

/// Sums an error over samples: the observer of most regression metrics.
/// `Error` has kName, Options (with num_outputs() if it takes several outputs),
/// a constructor from them, and the error of an element in two forms:
///
///     double operator()(double preds, double target) const;
///     at::Tensor operator()(const at::Tensor& preds,
///                           const at::Tensor& target) const;
///
/// the latter on float64 tensors, with a gradient. Optional members are
///     scale(target)             a factor of the sample's weight, as above
///     valid(preds, target)      whether the error is defined there, as above,
///                               NaN included
///     domain()                  what is expected of preds and target then
///     sums(preds, target, count) PlainSums of plain arrays without weights, or
///                               nothing
/// In the .cc file of the metric: #include error_sums_impl.h, and
/// `template class ErrorSums<Error>;`.
///
/// update(preds, target, weight = 1): of the same shape, any real dtypes; each
/// pair of elements is a sample. With num_outputs > 1: [N, num_outputs] and
/// weight [N], each row is a sample.
/// NaN: propagates into its output; NanPolicy::kIgnore ignores the sample.
/// Errors: c10::ValueError for shapes that differ or do not match num_outputs,
/// for weights below 0, and for NaN with NanPolicy::kError; c10::TypeError for
/// complex or sparse inputs.
template <class Error>
class ErrorSums {
 public:
  static constexpr const char* kName = Error::kName;
  static constexpr const auto& kInputs = internal::regression::kWeightedInputs;
  using Options = typename Error::Options;
  using State = ErrorState;

  ErrorSums(const Options& options, const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

  template <class M>
  static MetricSampling sampling(const M& metric) {
    MetricSampling sampling;
    sampling.row_sums =
        [sums = ErrorSums(metric.options(), metric.metric_options())](
            Inputs inputs) { return sums.row_sums(inputs); };
    return sampling;
  }

 private:
  // See MetricSampling. Undefined for several outputs or positions a row, and
  // where an input has a NaN.
  at::Tensor row_sums(Inputs inputs) const;

  Error error_;
  std::int64_t num_outputs_;
  NanPolicy nan_policy_;
  bool validate_;
};

namespace internal::regression {

/// The weighted mean: 0-dim, or [num_outputs]; NaN without samples.
at::Tensor mean_error(const ErrorState& state, std::int64_t num_outputs);
/// Its square root.
at::Tensor root_mean_error(const ErrorState& state, std::int64_t num_outputs);

}  // namespace internal::regression

}  // namespace tally

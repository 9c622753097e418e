#pragma once

#include <string>
#include <vector>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_options.h"
#include "tally/state/note.h"

namespace tally {

/// How SumMetric, MeanMetric, MinMetric, MaxMetric and CatMetric handle NaN.
enum class NanStrategy {
  kError,    ///< throw c10::ValueError; nothing changes
  kWarn,     ///< ignore it, and warn
  kIgnore,   ///< ignore it
  kDisable,  ///< do not check: it propagates into the result
  kReplace,  ///< replace it by `nan_value`
};

template <>
struct EnumNames<NanStrategy> {
  static constexpr const char* kNames[] = {"error", "warn", "ignore", "disable",
                                           "replace"};
};

/// Options of the aggregation metrics.
///
/// The strategy determines the handling of NaN. MetricOptions::nan_policy only
/// applies if the strategy is kWarn, the default: kError and kIgnore then mean
/// NanStrategy::kError and kIgnore.
///
/// Example: `MeanMetric loss(NanStrategy::kIgnore);`
struct AggregationOptions {
  AggregationOptions(NanStrategy nan_strategy = NanStrategy::kWarn)
      : nan_strategy_(nan_strategy) {}
  /// Default: kWarn. On a GPU, kError and kWarn synchronize in every update.
  TORCH_ARG(NanStrategy, nan_strategy);
  /// The value that replaces NaN under kReplace.
  TORCH_ARG(double, nan_value) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("nan_strategy", nan_strategy_, internal::words::kNanStrategy);
    v("nan_value", nan_value_, internal::words::kNanValue);
  }
  void validate(const char* metric) const;
  std::vector<std::string> without_effect() const;
};

namespace internal::aggregation {

/// The strategy that results from `options` and `metric_options`.
NanStrategy nan_strategy(const AggregationOptions& options,
                         const MetricOptions& metric_options);

inline constexpr NoteKind kNan{
    "nan", "NaN was ignored",
    "choose a nan_strategy other than warn to silence this"};

/// Under kError throws if there is a NaN, under kWarn marks the elements.
void report_nan(NanStrategy strategy, const char* input,
                const at::Tensor& tensor, Note& note);

}  // namespace internal::aggregation
}  // namespace tally

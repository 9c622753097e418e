#pragma once

#include <limits>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/regression/inputs/declared_inputs.h"

namespace tally {

/// Options of CriticalSuccessIndex.
///
/// Example: `CriticalSuccessIndex csi(0.5);`
struct CriticalSuccessIndexOptions {
  CriticalSuccessIndexOptions(
      double threshold = std::numeric_limits<double>::quiet_NaN())
      : threshold_(threshold) {}
  /// Values of at least this are events.
  TORCH_ARG(double, threshold);
  /// A dimension of the inputs for which a separate value is computed per
  /// index, concatenated over updates. Default: none, a single value.
  TORCH_ARG(std::optional<std::int64_t>, keep_sequence_dim) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("threshold", threshold_, "Values of at least this count as an event.");
    v("keep_sequence_dim", keep_sequence_dim_,
      "Dimension along which values are reported one by one.");
  }
  Dimensions dimensions() const { return {Dimension::kStep}; }
  void validate(const char* metric) const;
};

/// The observer of CriticalSuccessIndex.
class EventCounts {
 public:
  static constexpr const char* kName = "EventCounts";
  static constexpr const auto& kInputs = internal::regression::kPairInputs;
  using Options = CriticalSuccessIndexOptions;
  /// Counts are int64 [4]: hits, misses, false alarms, and NaN.
  struct State {
    at::Tensor counts;
    Rows sequence;  // one row per index of keep_sequence_dim
    void fields(Fields& f) { f("counts", counts)("sequence", sequence); }
  };

  EventCounts(const Options& options, const MetricOptions& metric_options)
      : threshold_(options.threshold()),
        keep_sequence_dim_(options.keep_sequence_dim()),
        nan_policy_(metric_options.nan_policy()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  double threshold_;
  std::optional<std::int64_t> keep_sequence_dim_;
  NanPolicy nan_policy_;
};

/// The critical success index, or threat score, of event forecasts; an event is
/// a value of at least the threshold.
///
///     hits / (hits + misses + false alarms)
///
/// update(preds, target): of the same shape, any real dtypes.
/// Result: 0-dim; with keep_sequence_dim [S], where S is the sum of that
/// dimension's sizes over all updates; float64 in [0, 1]. NaN without events.
/// State: counts in int64, merged by addition; with keep_sequence_dim
/// concatenated.
/// NaN: a counted NaN makes the result NaN; NanPolicy::kIgnore ignores that
/// element.
/// Errors: c10::ValueError for shapes that differ or lack keep_sequence_dim,
/// and for NaN with NanPolicy::kError; c10::TypeError for complex or sparse
/// inputs. Not differentiable.
/// Source: Schaefer 1990.
///
/// Example:
///     CriticalSuccessIndex csi(/*threshold=*/0.5);
///     csi.update(preds, target);
///     double value = csi.compute().item<double>();
class CriticalSuccessIndex final
    : public MetricOf<CriticalSuccessIndex, EventCounts, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CriticalSuccessIndex";
  static constexpr MetricSummary kSummary{
      "Hits over the sum of hits, misses and false alarms.",
      "[0, 1]",
      "threshold=0.5",
      "csi, threat score",
      R"(\frac{hits}{hits + misses + false\ alarms})",
      "Schaefer 1990"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<CriticalSuccessIndex, EventCounts, at::Tensor>;

}  // namespace tally

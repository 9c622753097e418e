#pragma once

namespace tally {

/// The kinds of classification that a metric is one of.
enum class MetricTask { kNone, kBinary, kMulticlass, kMultilabel };

/// What a metric says about itself, for those who look for one: `tally list`
/// and `tally describe`, Python's documentation, the catalog.
///
///     static constexpr MetricSummary kSummary{
///         "Mean of squared errors, or its root.", "[0, inf)", "",
///         "mse, rmse, l2", R"(\frac{1}{N} \sum_n (\hat y_n - y_n)^2)"};
struct MetricSummary {
  /// One sentence of fewer than 79 characters.
  const char* what;
  /// "[0, 1]", "[0, inf)", "any".
  const char* range;
  /// Options without a default, with example values: "num_classes=5".
  const char* required = "";
  /// Other names by which people look for it, the most used first, in lower
  /// case: "mse, rmse".
  const char* aliases = "";
  /// In LaTeX.
  const char* formula = "";
  /// Who defined it: "Guo et al. 2017".
  const char* source = "";
  MetricTask task = MetricTask::kNone;

  /// The same for a metric that needs these options.
  constexpr MetricSummary needing(const char* options) const {
    MetricSummary summary = *this;
    summary.required = options;
    return summary;
  }
  /// The same for binary classification.
  constexpr MetricSummary binary() const {
    MetricSummary summary = *this;
    summary.task = MetricTask::kBinary;
    return summary;
  }
  /// The same for classes, with num_classes.
  constexpr MetricSummary multiclass() const {
    MetricSummary summary = needing("num_classes=5");
    summary.task = MetricTask::kMulticlass;
    return summary;
  }
  /// The same for labels, with num_labels.
  constexpr MetricSummary multilabel() const {
    MetricSummary summary = needing("num_labels=5");
    summary.task = MetricTask::kMultilabel;
    return summary;
  }
};

}  // namespace tally

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tally/metrics/average.h"
#include "tally/metrics/classification/curves/curve_view.h"
#include "tally/metrics/classification/curves/score_counts.h"

/// Reads curves from a CurveState of any form.
namespace tally::internal::classification {

/// Calls visit(curve, counts) for every curve, from several threads.
void visit_counts(const CurveView& view, const CountsVisit& visit);

/// The counts of all curves' samples together.
std::optional<ScoreCounts> pooled_counts(const CurveView& view);

/// One curve's counts at each of its thresholds, highest first: the number of
/// samples of either class with at least this score.
struct CurvePoints {
  std::vector<double> thresholds;
  std::vector<double> tp;
  std::vector<double> fp;
  /// The totals; NaN, like the counts, if a score is NaN.
  double positives = 0;
  double negatives = 0;

  std::size_t size() const { return thresholds.size(); }
};

/// Reads CurvePoints. Exact curves have a threshold for each distinct score
/// (one, if a score is NaN), reported as a probability for logits; others have
/// the given ones.
class PointReader {
 public:
  explicit PointReader(const CurveView& view);

  CurvePoints operator()(const std::optional<ScoreCounts>& counts) const;

 private:
  // From logits, or logarithms of a softmax.
  void make_probabilities(std::vector<double>& scores) const;

  std::vector<double> thresholds_;  // the given ones, descending
  CurveShape::Task task_;
  ScoreKind input_;
};

using ValueOf = std::function<double(const ScoreCounts&)>;

/// value(counts) of every curve, [curves] with kNone, or averaged; a NaN value
/// is excluded from averages, a NaN among the scores makes them NaN. A single
/// curve gives its value, 0-dim.
at::Tensor average_values(const CurveView& view, Average average,
                          const ValueOf& value);

/// average_values of the areas under complete ROC curves, if they can be
/// computed faster than by counts.
std::optional<at::Tensor> average_areas(const CurveView& view, Average average);

}  // namespace tally::internal::classification

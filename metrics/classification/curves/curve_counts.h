#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tally/metrics/classification/curves/curve_view.h"
#include "tally/metrics/classification/curves/score_counts.h"
#include "tally/metrics/classification/options/average.h"

/// How curves are read from a CurveState, whatever its form.
namespace tally::internal::classification {

/// Calls visit(curve, counts) for every curve, from several threads.
void visit_counts(const CurveView& view, const CountsVisit& visit);

/// Those of all curves' samples together.
std::optional<ScoreCounts> pooled_counts(const CurveView& view);

/// One curve's counts at each of its thresholds, highest first: how many
/// samples of either class have at least this score.
struct CurvePoints {
  std::vector<double> thresholds;
  std::vector<double> tp;
  std::vector<double> fp;
  /// All; NaN if a score is, and the counts with them.
  double positives = 0;
  double negatives = 0;

  std::size_t size() const { return thresholds.size(); }
};

/// Reads CurvePoints. Exact curves have a threshold for each distinct score
/// (one, if a score is NaN), that of a logit as its probability; others those
/// they were given.
class PointReader {
 public:
  explicit PointReader(const CurveView& view)
      : grid_(view.thresholds), task_(view.shape.task), input_(view.input) {}

  CurvePoints operator()(const std::optional<ScoreCounts>& counts) const;

 private:
  // Of logits, or of logarithms of a softmax.
  void make_probabilities(std::vector<double>& scores) const;

  ThresholdGrid grid_;
  CurveShape::Task task_;
  ScoreKind input_;
};

using ValueOf = std::function<double(const ScoreCounts&)>;

/// value(counts) of every curve, [curves] with kNone, or averaged; a value that
/// is NaN leaves averages, a NaN among the scores makes them NaN. One curve
/// gives its value, 0-dim.
at::Tensor average_values(const CurveView& view, Average average,
                          const ValueOf& value);

/// average_values of the areas under whole ROC curves, where there is a faster
/// way to them than by counts.
std::optional<at::Tensor> average_areas(const CurveView& view, Average average);

}  // namespace tally::internal::classification

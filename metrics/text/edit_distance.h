#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/edit_distances.h"

namespace tally {

/// Edit distance (Levenshtein distance) of texts: the least number of
/// characters to insert, delete or substitute to turn the text into the
/// reference, or the least cost where substitutions have another.
/// Exact for texts of any length; TorchMetrics' is too high where the best
/// alignment is far from the diagonal. Characters are code points.
/// update(preds, target): texts [N] and reference texts [N], UTF-8.
/// Result: the mean, 0-dim float64, NaN before any update; with kSum 0-dim
/// int64; with kNone int64 [N].
/// State: the sum and the number of samples as integers, merged by addition;
/// with kNone the distances, in the order of updates and ranks.
/// Empty texts have no characters. Unicode forms (NFC or NFD) differ.
/// Errors: c10::ValueError for another number of preds than of target, and for
/// what is not UTF-8, naming the sample and the byte.
/// Not differentiable.
/// Source: Levenshtein 1966; computed by the algorithms of Myers 1999 and Hyyro
/// 2003 and 2004.
///
/// Example:
///     EditDistance distance;
///     distance.update(std::vector<std::string>{"rain"},
///                     std::vector<std::string>{"shine"});
///     double value = distance.compute().item<double>();  // 3
class EditDistance final
    : public MetricOf<EditDistance, CharEditDistances, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "EditDistance";
  static constexpr MetricSummary kSummary{
      "Edit (Levenshtein) distance of characters.",
      "[0, inf]",
      "",
      "levenshtein, edit distance",
      R"(\min (S + D + I))",
      "Levenshtein 1966"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<EditDistance, CharEditDistances, at::Tensor>;

}  // namespace tally

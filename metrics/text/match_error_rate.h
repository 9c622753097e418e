#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/edit_errors.h"

namespace tally {

using MatchErrorRateOptions = WordErrorOptions;

/// Match error rate (MER): the fraction of matches between words, and of words
/// without a match, that are errors.
///
///     (S + D + I) / (H + S + D + I)
///
/// with the hits H, substitutions S, deletions D and insertions I of the
/// alignment of each pair with the fewest edits, over all pairs together. Of
/// several such alignments rapidfuzz's counts, as in jiwer: for "b c" and the
/// reference "a b" the value is 1, for "a b" and the reference "b c" 2 / 3.
/// update(preds, target): texts [N] and reference texts [N], UTF-8.
/// Result: 0-dim float64, in [0, 1]; 0 without any words, as in jiwer;
/// NaN before any update.
/// State, empty texts and errors: as WordErrorRate, which shares the state.
/// Not differentiable.
/// Source: Morris, Maier and Green 2004; jiwer 4.0.0, whose values it equals.
///
/// Example:
///     MatchErrorRate rate;
///     rate.update(std::vector<std::string>{"the cat sat"},
///                 std::vector<std::string>{"the cat sat down"});
///     double value = rate.compute().item<double>();  // 0.25
class MatchErrorRate final
    : public MetricOf<MatchErrorRate, WordErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MatchErrorRate";
  static constexpr MetricSummary kSummary{
      "Errors as a fraction of all aligned words (MER).",
      "[0, 1]",
      "",
      "mer",
      R"(\frac{S + D + I}{S + D + I + H})",
      "Morris, Maier and Green 2004"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<MatchErrorRate, WordErrors, at::Tensor>;

}  // namespace tally

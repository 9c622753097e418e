#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/edit_errors.h"

namespace tally {

using WordInfoLostOptions = WordErrorOptions;

/// Word information lost (WIL): how much of the references' and hypotheses'
/// words do not correspond.
///
///     1 - H / (H + S + D) * H / (H + S + I)
///
/// with the hits H, substitutions S, deletions D and insertions I of the
/// alignment of each pair with the fewest edits that rapidfuzz chooses, over
/// all pairs together.
/// update(preds, target): texts [N] and reference texts [N], UTF-8.
/// Result: 0-dim float64, in [0, 1]; 1 if only one side has words, 0 if neither
/// has, as in jiwer; NaN before any update.
/// State, empty texts and errors: as WordErrorRate, which shares the state.
/// Not differentiable.
/// Source: Morris, Maier and Green 2004; jiwer 4.0.0, whose values it equals.
///
/// Example:
///     WordInfoLost lost;
///     lost.update(std::vector<std::string>{"the cat sat"},
///                 std::vector<std::string>{"the cat sat down"});
///     double value = lost.compute().item<double>();  // 0.25
class WordInfoLost final
    : public MetricOf<WordInfoLost, WordErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "WordInfoLost";
  static constexpr MetricSummary kSummary{"Word information lost (WIL).",
                                          "[0, 1]",
                                          "",
                                          "wil",
                                          R"(1 - \frac{H}{N_1} \frac{H}{N_2})",
                                          "Morris, Maier and Green 2004"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<WordInfoLost, WordErrors, at::Tensor>;

}  // namespace tally

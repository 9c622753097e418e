#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/edit_errors.h"

namespace tally {

using WordInfoPreservedOptions = WordErrorOptions;

/// Word information preserved (WIP): how much of the references' and
/// hypotheses' words correspond.
///
///     H / (H + S + D) * H / (H + S + I)
///
/// with the hits H, substitutions S, deletions D and insertions I of the
/// alignment of each pair with the fewest edits that rapidfuzz chooses, over
/// all pairs together.
/// update(preds, target): texts [N] and reference texts [N], UTF-8.
/// Result: 0-dim float64, in [0, 1]; 0 if only one side has words, 1 if neither
/// has, as in jiwer; NaN before any update.
/// State, empty texts and errors: as WordErrorRate, which shares the state.
/// Not differentiable.
/// Source: Morris, Maier and Green 2004; jiwer 4.0.0, whose values it equals.
///
/// Example:
///     WordInfoPreserved preserved;
///     preserved.update(std::vector<std::string>{"the cat sat"},
///                      std::vector<std::string>{"the cat sat down"});
///     double value = preserved.compute().item<double>();  // 0.75
class WordInfoPreserved final
    : public MetricOf<WordInfoPreserved, WordErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "WordInfoPreserved";
  static constexpr MetricSummary kSummary{"Word information preserved (WIP).",
                                          "[0, 1]",
                                          "",
                                          "wip",
                                          R"(\frac{H}{N_1} \frac{H}{N_2})",
                                          "Morris, Maier and Green 2004"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<WordInfoPreserved, WordErrors, at::Tensor>;

}  // namespace tally

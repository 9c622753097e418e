#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/edit_errors.h"

namespace tally {

/// Error rate of sequences of tokens, such as a decoder's output, without
/// turning them into texts: WordErrorRate, MatchErrorRate, WordInfoLost or
/// WordInfoPreserved with integers in place of words.
///
///     (S + D + I) / (H + S + D)
///
/// with the hits H, substitutions S, deletions D and insertions I of the
/// alignment of each pair of rows with the fewest edits, over all rows
/// together; other measures by the option `measure`.
/// update(preds, target): integers [N, L] and [N, M], a sequence in each row.
/// Result: 0-dim float64, in the range of the measure; values without any
/// tokens as those of the metric of words, NaN without rows.
/// State: H, S, D, I and the number of samples as integers, merged by addition;
/// shared by all measures.
/// Errors: c10::TypeError unless both are of integers; c10::ValueError for
/// other shapes.
/// Not differentiable.
/// Source: jiwer 4.0.0, whose values for words it equals.
///
/// Example:
///     TokenErrorRate rate(TokenErrorRateOptions().ignore_index(0));
///     rate.update(at::tensor({5, 6, 7, 0}).reshape({1, 4}),
///                 at::tensor({5, 7}).reshape({1, 2}));
///     double value = rate.compute().item<double>();  // 0.5
class TokenErrorRate final
    : public MetricOf<TokenErrorRate, TokenErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TokenErrorRate";
  static constexpr MetricSummary kSummary{
      "Token errors per token of the references.", "[0, inf]", "",
      "token error rate, phoneme error rate, per", R"(\frac{S + D + I}{N})"};

  at::Tensor evaluate(const State& state) const;
  std::optional<bool> higher_is_better() const override {
    return options().measure() == EditMeasure::kInformationPreserved;
  }
};

extern template class MetricOf<TokenErrorRate, TokenErrors, at::Tensor>;

}  // namespace tally

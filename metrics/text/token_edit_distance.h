#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/edit_distances.h"

namespace tally {

/// Edit distance of sequences of tokens, such as a decoder's output, without
/// turning them into texts: EditDistance with integers in place of characters.
/// update(preds, target): integers [N, L] and [N, M], a sequence in each row.
/// Result and state: as EditDistance.
/// Errors: c10::TypeError unless both are of integers; c10::ValueError for
/// other shapes.
/// Not differentiable.
/// Source: see EditDistance.
///
/// Example:
///     TokenEditDistance distance(TokenEditDistanceOptions().ignore_index(0));
///     distance.update(at::tensor({5, 6, 7, 0}).reshape({1, 4}),
///                     at::tensor({5, 7}).reshape({1, 2}));
///     double value = distance.compute().item<double>();  // 1
class TokenEditDistance final
    : public MetricOf<TokenEditDistance, TokenEditDistances, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TokenEditDistance";
  static constexpr MetricSummary kSummary{
      "Edit (Levenshtein) distance of sequences of integer tokens.",
      "[0, inf]",
      "",
      "levenshtein of tokens",
      R"(\min (S + D + I))",
      "Levenshtein 1966"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<TokenEditDistance, TokenEditDistances,
                               at::Tensor>;

}  // namespace tally

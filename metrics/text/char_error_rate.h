#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/edit_errors.h"

namespace tally {

/// Character error rate (CER): the characters that are wrong, missing or too
/// many, per character of the references.
///
///     (S + D + I) / (H + S + D)
///
/// with the hits H, substitutions S, deletions D and insertions I of the
/// alignment of each pair with the fewest edits, over all pairs together.
/// Characters are code points. White space counts, except at the ends of a
/// text, where strip(false) counts it, too, as TorchMetrics does.
/// update(preds, target): texts [N] and reference texts [N], UTF-8.
/// Result: 0-dim float64, at least 0; without any characters in the references
/// the number of insertions, as in jiwer, NaN before any update.
/// State: H, S, D, I and the number of samples as integers, merged by addition.
/// Empty texts have no characters. Unicode forms (NFC or NFD) differ.
/// Errors: c10::ValueError for another number of preds than of target, and for
/// what is not UTF-8, naming the sample and the byte.
/// Not differentiable.
/// Source: jiwer 4.0.0, whose values it equals.
///
/// Example:
///     CharErrorRate rate;
///     rate.update(std::vector<std::string>{"kitten"},
///                 std::vector<std::string>{"sitting"});
///     double value = rate.compute().item<double>();  // 3 / 7
class CharErrorRate final
    : public MetricOf<CharErrorRate, CharErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CharErrorRate";
  static constexpr MetricSummary kSummary{
      "Character errors per character of the references (CER).", "[0, inf]", "",
      "cer, character error rate", R"(\frac{S + D + I}{N})"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<CharErrorRate, CharErrors, at::Tensor>;

}  // namespace tally

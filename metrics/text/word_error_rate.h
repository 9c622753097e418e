#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/edit_errors.h"

namespace tally {

using WordErrorRateOptions = WordErrorOptions;

/// Word error rate (WER): the words that are wrong, missing or too many, per
/// word of the references.
///
///     (S + D + I) / (H + S + D)
///
/// with the hits H, substitutions S, deletions D and insertions I of the
/// alignment of each pair with the fewest edits, over all pairs together.
/// update(preds, target): texts [N] and reference texts [N], UTF-8.
/// Result: 0-dim float64, at least 0, and above 1 where there are more edits
/// than words; without any words in the references the number of insertions, as
/// in jiwer: 0 for texts that are all empty. NaN before any update.
/// State: H, S, D, I and the number of samples as integers, merged by addition;
/// shared with MatchErrorRate, WordInfoLost and WordInfoPreserved with the same
/// `split`. Empty texts have no words. Upper and lower case, punctuation and
/// Unicode forms (NFC or NFD) differ. Errors: c10::ValueError for another
/// number of preds than of target, and for what is not UTF-8, naming the sample
/// and the byte. Not differentiable. Source: jiwer 4.0.0, whose values it
/// equals.
///
/// Example:
///     WordErrorRate rate;
///     rate.update(std::vector<std::string>{"the cat sat"},
///                 std::vector<std::string>{"the cat sat down"});
///     double value = rate.compute().item<double>();  // 0.25
class WordErrorRate final
    : public MetricOf<WordErrorRate, WordErrors, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "WordErrorRate";
  static constexpr MetricSummary kSummary{
      "Word errors per word of the references (WER).", "[0, inf]", "",
      "wer, word error", R"(\frac{S + D + I}{N})"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<WordErrorRate, WordErrors, at::Tensor>;

}  // namespace tally

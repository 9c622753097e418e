#pragma once

#include <string>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/bleu_counts.h"

namespace tally {

/// Options of SacreBLEUScore.
///
/// Example:
///     SacreBLEUScore bleu(
///         SacreBLEUScoreOptions().tokenize(BleuTokenizer::kZh));
struct SacreBLEUScoreOptions {
  TORCH_ARG(std::int64_t, n_gram) = 4;
  TORCH_ARG(BleuTokenizer, tokenize) = BleuTokenizer::k13a;
  /// Whether to ignore case: sentences are put into lower case before they are
  /// tokenized.
  TORCH_ARG(bool, lowercase) = false;
  TORCH_ARG(BleuSmoothing, smooth_method) = BleuSmoothing::kExp;
  /// Of kFloor and kAddK, above 0. Default: 0.1 for kFloor, 1 for kAddK.
  TORCH_ARG(std::optional<double>, smooth_value) = std::nullopt;
  /// Skip orders for which hypotheses are too short to have any n-gram, as
  /// single sentences may be.
  TORCH_ARG(bool, effective_order) = false;
  /// Weights of the orders, at least 0. Default: empty, which means 1 / n_gram
  /// for each. Those of skipped orders go to the others in proportion.
  TORCH_ARG(std::vector<double>, weights) = {};

 public:
  void visit(OptionVisitor& v) {
    v("n_gram", n_gram_, OptionRole::kSize, internal::words::kNGram);
    v("tokenize", tokenize_, "How sentences are split into tokens.");
    v("lowercase", lowercase_, internal::words::kLowercase);
    v("smooth_method", smooth_method_, OptionRole::kValue,
      "Precision of orders without a match.");
    v("smooth_value", smooth_value_, OptionRole::kValue,
      "Value of floor (none: 0.1) and add-k (none: 1).");
    v("effective_order", effective_order_, OptionRole::kValue,
      "Skip n-gram orders for which the texts are too short.");
    v("weights", weights_, OptionRole::kValue, internal::words::kWeights);
  }
  void validate(const char* metric) const;
};

/// BLEU of a corpus that is not tokenized, as sacrebleu 2.6.0 computes it, so
/// that values of different authors can be compared. See BLEUScore for formula,
/// matches and lengths; sacrebleu's score is 100 times the value here.
///
/// update(preds, target): texts in UTF-8, N hypotheses and one or more
/// references for each, not necessarily as many.
/// Result: 0-dim float64 in [0, 1]; 0 without any match, whatever the
/// smoothing, and before any update.
/// signature() describes how the value was computed, for citing it.
/// State: BleuCounts, integers; the same for any split.
/// Tokenizers: kIntl looks characters up in Unicode 15.0 (sacrebleu in that of
/// the installed `regex`). kZh has sacrebleu's ranges as they run: characters
/// beyond FFFF are no tokens of their own.
/// Empty texts have no n-grams.
/// Warnings: rows with a text that the tokenizer leaves whole, in a script
/// without spaces between words (`unsplit`).
/// Errors: c10::ValueError for inputs of different sizes, for a hypothesis
/// without references, and for text that is not UTF-8, naming sample and byte.
/// Not differentiable.
/// Source: Post 2018; sacrebleu 2.6.0.
///
/// Example:
///     SacreBLEUScore bleu;
///     bleu.update(std::vector<std::string>{"The cat is on the mat."},
///                 std::vector<std::string>{"There is a cat on the mat."});
///     std::string cited = bleu.signature();  // nrefs:1|case:mixed|...
class SacreBLEUScore final
    : public MetricOf<SacreBLEUScore, BleuCounts, at::Tensor,
                      SacreBLEUScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "SacreBLEUScore";
  static constexpr MetricSummary kSummary{
      "BLEU of plain texts, tokenized and smoothed as in sacrebleu.",
      "[0, 1]",
      "",
      "sacrebleu",
      R"(BP \exp \sum_n w_n \log p_n)",
      "Post 2018"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;

  /// sacrebleu's signature with the version whose values these are, followed by
  /// n_gram and weights if they are not sacrebleu's, and the versions of Tally
  /// and of Unicode; in one line
  ///     nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0
  ///     |tally:0.1.0|unicode:15.0
  /// nrefs is the number of references of each row accumulated, over all ranks
  /// while synced, and "var" if it differs or nothing was accumulated.
  std::string signature() const;
};

extern template class MetricOf<SacreBLEUScore, BleuCounts, at::Tensor,
                               SacreBLEUScoreOptions>;

}  // namespace tally

#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/bleu_counts.h"

namespace tally {

/// Options of BLEUScore.
///
/// Example:
///     BLEUScore bleu(BLEUScoreOptions().n_gram(2).smooth(true));
struct BLEUScoreOptions {
  TORCH_ARG(std::int64_t, n_gram) = 4;
  /// Count one more match and one more n-gram of each order from the second on
  /// (Lin and Och 2004).
  TORCH_ARG(bool, smooth) = false;
  /// Weights of the orders, at least 0. Default: empty, which means 1 / n_gram
  /// for each.
  TORCH_ARG(std::vector<double>, weights) = {};

 public:
  /// Tokens are separated by white space.
  static BleuTokenizer tokenize() { return BleuTokenizer::kNone; }
  static bool lowercase() { return false; }

  void visit(OptionVisitor& v) {
    v("n_gram", n_gram_, OptionRole::kSize, internal::words::kNGram);
    v("smooth", smooth_, OptionRole::kValue,
      "Add one to matches and n-grams from the second order on.");
    v("weights", weights_, OptionRole::kValue, internal::words::kWeights);
  }
  void validate(const char* metric) const {
    internal::text::check_bleu_orders(metric, n_gram_, weights_);
  }
};

/// BLEU of a corpus that is tokenized: how many n-grams of the hypotheses occur
/// in the references, and whether hypotheses are too short. See SacreBLEUScore
/// for sentences that are not tokenized.
///
///     bp exp(sum_n weights_n log(matches_n / totals_n))
///     bp = exp(min(0, 1 - target_len / preds_len))
///
/// Sums are over all sentences. An n-gram matches at most as often as in the
/// reference that has it most often, and target_len adds up the length of the
/// reference whose length is closest to the hypothesis, the shorter one of two.
/// update(preds, target): texts in UTF-8, N hypotheses and one or more
/// references for each; their tokens are separated by white space.
/// Result: 0-dim float64 in [0, 1]; 0 if an order has no match, and before any
/// update. With `smooth`, orders from the second on always have one, and the
/// result is 0 only without any match: TorchMetrics gives 0 whenever an order
/// has none, sacrebleu's add-k is the same as here.
/// State: the sums as integers; the same for any split.
/// Empty texts have no n-grams.
/// Warnings: rows with a text left whole, in a script without spaces between
/// words (`unsplit`).
/// Errors: c10::ValueError for inputs of different sizes, for a hypothesis
/// without references, and for text that is not UTF-8, naming sample and byte.
/// Not differentiable.
/// Source: Papineni et al. 2002.
///
/// Example:
///     BLEUScore bleu;
///     bleu.update(std::vector<std::string>{"the cat is on the mat"},
///                 std::vector<std::string>{"there is a cat on the mat"});
///     double value = bleu.compute().item<double>();
class BLEUScore final
    : public MetricOf<BLEUScore, BleuCounts, at::Tensor, BLEUScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "BLEUScore";
  static constexpr MetricSummary kSummary{"BLEU of tokenized texts.",
                                          "[0, 1]",
                                          "",
                                          "bleu",
                                          R"(BP \exp \sum_n w_n \log p_n)",
                                          "Papineni et al. 2002"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BLEUScore, BleuCounts, at::Tensor,
                               BLEUScoreOptions>;

}  // namespace tally

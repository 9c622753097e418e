#pragma once

#include <cstdint>
#include <string>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/reference_counts.h"

namespace tally {

/// Options of CHRFScore.
///
/// Example:
///     CHRFScore chrf(CHRFScoreOptions().n_word_order(0));
struct CHRFScoreOptions {
  TORCH_ARG(std::int64_t, n_char_order) = 6;
  /// The highest order of n-grams of words: 0 for chrF, 2 for chrF++. Default:
  /// 2, as in TorchMetrics; sacrebleu's is 0.
  TORCH_ARG(std::int64_t, n_word_order) = 2;
  /// Weight of recall relative to precision, above 0.
  TORCH_ARG(double, beta) = 2.0;
  TORCH_ARG(bool, lowercase) = false;
  TORCH_ARG(bool, whitespace) = false;
  /// Average F over all orders, those without n-grams as 1e-16, as the original
  /// program, NLTK, Moses and TorchMetrics do. Default: false: F of the means
  /// of precision and recall over the orders that both sides have, as
  /// sacrebleu does.
  TORCH_ARG(bool, eps_smoothing) = false;

 public:
  void visit(OptionVisitor& v) {
    v("n_char_order", n_char_order_, OptionRole::kSize,
      "Highest order of n-grams of characters.");
    v("n_word_order", n_word_order_, OptionRole::kSize,
      "Highest order of n-grams of words; 0: chrF, 2: chrF++.");
    // These decide which reference counts, too.
    v("beta", beta_, internal::words::kBeta);
    v("lowercase", lowercase_, internal::words::kLowercase);
    v("whitespace", whitespace_, "Whether whitespace counts as characters.");
    v("eps_smoothing", eps_smoothing_,
      "Mean F of all orders, as TorchMetrics; else as sacrebleu.");
  }
  void validate(const char* metric) const;
};

/// The observer of CHRFScore.
class CharNgramCounts {
 public:
  static constexpr const char* kName = "CharNgramCounts";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "hypotheses, one text per row"},
      {"target", InputKind::kTextLists, "references, one or more per row"}};
  static constexpr const char* kUnit = "text";
  using Options = CHRFScoreOptions;

  struct State {
    /// int64 [n_char_order + n_word_order, 3]: the n-grams of the hypotheses
    /// (of those whose reference has any), of the references, and of both.
    at::Tensor counts;
    ReferenceCounts references;

    void fields(Fields& f) {
      f("counts", counts);
      references.fields(f);
    }
    static State merge(const State& a, const State& b);
  };

  explicit CharNgramCounts(const Options& options) : options_(options) {}
  State observe(const TextList& preds, const TextLists& target) const;

 private:
  Options options_;
};

/// chrF and chrF++: how many n-grams of characters, and of words, hypotheses
/// and references have in common.
///
///     (1 + beta^2) P R / (beta^2 P + R)
///
/// P and R are the means over the orders of matches / n-grams of the hypotheses
/// and of the references; orders count that both sides have. Sums are over all
/// sentences, each with the reference that gives it the highest value, the
/// first one of equal ones.
/// update(preds, target): texts in UTF-8, N hypotheses and one or more
/// references for each. Characters are code points; words are separated by
/// white space, and an ASCII punctuation mark at their end, else one at their
/// start, is a word of its own.
/// Result: 0-dim float64 in [0, 1]; 0 without any n-gram in common (1e-16 with
/// eps_smoothing), and before any update. sacrebleu's score is 100 times as
/// much. TorchMetrics drops the n-grams of references that have nothing in
/// common with their hypothesis; here and in sacrebleu they count.
/// State: the sums as integers; the same for any split.
/// Empty texts have no n-grams.
/// Errors: c10::ValueError for inputs of different sizes, for a hypothesis
/// without references, and for text that is not UTF-8, naming sample and byte.
/// Not differentiable.
/// Source: Popovic 2015 and 2017; sacrebleu 2.6.0.
///
/// Example:
///     CHRFScore chrf;
///     chrf.update(std::vector<std::string>{"the cat is on the mat"},
///                 std::vector<std::string>{"there is a cat on the mat"});
///     double value = chrf.compute().item<double>();
class CHRFScore final
    : public MetricOf<CHRFScore, CharNgramCounts, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "CHRFScore";
  static constexpr MetricSummary kSummary{
      "F-score of character and word n-grams (chrF, chrF++).",
      "[0, 1]",
      "",
      "chrf, chrf++",
      R"(\frac{(1 + \beta^2) P R}{\beta^2 P + R})",
      "Popovic 2015, 2017"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  at::Tensor evaluate(const State& state) const;

  /// sacrebleu's signature with the version whose values these are, followed by
  /// beta if it is not 2, and the versions of Tally and of Unicode (see
  /// SacreBLEUScore); in one line
  ///     nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0
  ///     |tally:0.1.0|unicode:15.0
  std::string signature() const;
};

extern template class MetricOf<CHRFScore, CharNgramCounts, at::Tensor>;

}  // namespace tally

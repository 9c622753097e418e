#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/kernels/text_notes.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of TranslationEditRate: those of tercom.
///
/// Example:
///     TranslationEditRate rate(
///         TranslationEditRateOptions().normalize(true));
struct TranslationEditRateOptions {
  /// Whether punctuation becomes words of its own, and XML's escapes what they
  /// stand for.
  TORCH_ARG(bool, normalize) = false;
  /// Whether `. , ? : ; ! " ( )` are removed.
  TORCH_ARG(bool, no_punctuation) = false;
  TORCH_ARG(bool, lowercase) = true;
  /// Whether, with `normalize`, ideographs and punctuation of East Asia become
  /// words of their own, and, with `no_punctuation`, such punctuation is
  /// removed.
  TORCH_ARG(bool, asian_support) = false;
  /// Whether the result is the rate of each sample instead of that of the
  /// corpus.
  TORCH_ARG(bool, sentence_level) = false;

 public:
  void visit(OptionVisitor& v) {
    v("normalize", normalize_,
      "Whether punctuation becomes words, as in tercom.");
    v("no_punctuation", no_punctuation_, "Whether punctuation is removed.");
    v("lowercase", lowercase_, internal::words::kLowercase);
    v("asian_support", asian_support_,
      "Split ideographs, and remove their punctuation, too.");
    v("sentence_level", sentence_level_,
      "Whether to return a value for each sample.");
  }
  std::vector<std::string> without_effect() const;
  Dimensions dimensions() const { return {Dimension::kSample}; }
};

/// The observer of TranslationEditRate.
class TranslationEditSums {
 public:
  static constexpr const char* kName = "TranslationEditSums";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "texts [N]"},
      {"target", InputKind::kTextLists, "references for each of N texts"}};
  static constexpr const char* kUnit = "text";
  using Options = TranslationEditRateOptions;
  struct State {
    std::int64_t edits = 0;
    std::int64_t samples = 0;
    at::Tensor lengths;  // an exact sum: means over references are fractions
    Rows rates;          // sentence_level: instead of the sums
    Note unsplit{internal::text::kUnsplit};

    void fields(Fields& f) {
      f("edits", edits)("samples", samples);
      f("lengths", lengths)("rates", rates)(unsplit);
    }
  };

  explicit TranslationEditSums(const Options& options) : options_(options) {}
  State observe(const TextList& preds, const TextLists& target) const;

 private:
  Options options_;
};

/// Translation edit rate (TER): insertions, deletions, substitutions and shifts
/// of words that turn a translation into a reference, per word of the
/// references.
///
///     sum of the edits / sum of the mean lengths of each text's references
///
/// Of several references, that with the fewest edits counts.
/// update(preds, target): texts [N] and a list of references for each, UTF-8;
/// texts [N] in target are one reference each.
/// Result: 0-dim float64, at least 0, with sentence_level [N]; without words in
/// the references 1 if there are edits, else 0, as in sacrebleu, whose
/// percentages are 100 times as much; NaN before any update.
/// State: the numbers of edits and samples, and the exact sum of the lengths,
/// so that the value is the same for any split; with sentence_level the rates.
/// Empty texts have no words.
/// Warnings: rows with a text left whole, in a script without spaces between
/// words (`unsplit`), and asian_support without normalize and no_punctuation.
/// Errors: c10::ValueError for another number of preds than of target, for a
/// text without references, and for what is not UTF-8, naming the sample and
/// the byte.
/// Not differentiable.
/// Source: Snover et al. 2006; sacrebleu 2.6.0, whose values it equals.
///
/// Example:
///     TranslationEditRate rate;
///     rate.update(std::vector<std::string>{"on the mat the cat sat"},
///                 std::vector<std::string>{"the cat sat on the mat"});
///     double value = rate.compute().item<double>();  // 1 / 6: one shift
class TranslationEditRate final
    : public MetricOf<TranslationEditRate, TranslationEditSums, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "TranslationEditRate";
  static constexpr MetricSummary kSummary{
      "Translation edit rate: edits and shifts per reference word (TER).",
      "[0, inf]",
      "",
      "ter",
      R"(\frac{edits + shifts}{N})",
      "Snover et al. 2006"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<TranslationEditRate, TranslationEditSums,
                               at::Tensor>;

}  // namespace tally

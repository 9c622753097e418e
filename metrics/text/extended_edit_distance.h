#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/options/sentence_reduction.h"
#include "tally/state/fields.h"

namespace tally {

/// The language of sentences, which decides what is done to them beforehand.
enum class SentenceLanguage {
  kEnglish,   ///< punctuation is set apart; a space at both ends
  kJapanese,  ///< nothing, except white space at the end; for texts in NFKC
};

template <>
struct EnumNames<SentenceLanguage> {
  static constexpr const char* kNames[] = {"en", "ja"};
};

/// Options of ExtendedEditDistance. Costs are finite and at least 0.
///
/// Example:
///     ExtendedEditDistance distance(
///         ExtendedEditDistanceOptions().skip_origin(true));
struct ExtendedEditDistanceOptions {
  TORCH_ARG(SentenceLanguage, language) = SentenceLanguage::kEnglish;
  /// The cost of a jump, at a space of the reference.
  TORCH_ARG(double, alpha) = 2;
  /// The cost of visiting a character again, or not at all.
  TORCH_ARG(double, rho) = 0.3;
  /// The cost of a character of the hypothesis alone.
  TORCH_ARG(double, deletion) = 0.2;
  /// The cost of a character of the reference alone.
  TORCH_ARG(double, insertion) = 1;
  /// Whether the place before the first character does not count for coverage,
  /// so that equal texts have the distance 0. Default: false, as in
  /// TorchMetrics.
  TORCH_ARG(bool, skip_origin) = false;
  TORCH_ARG(SentenceReduction, reduction) = SentenceReduction::kMean;

 public:
  void visit(OptionVisitor& v) {
    v("language", language_,
      "Preprocessing of the texts; ja: none, they must be in NFKC.");
    v("alpha", alpha_, "Cost of a jump.");
    v("rho", rho_, "Cost of visiting a character again, or never.");
    v("deletion", deletion_, "Cost of a character that only preds has.");
    v("insertion", insertion_, "Cost of a character that only target has.");
    v("skip_origin", skip_origin_, "Whether equal texts have the distance 0.");
    v("reduction", reduction_, internal::text::role_of(reduction_),
      internal::words::kReducedTexts);
  }
  Dimensions dimensions() const { return {Dimension::kSample}; }
  void validate(const char* metric) const;
};

/// The observer of ExtendedEditDistance.
class ExtendedEditDistances {
 public:
  static constexpr const char* kName = "ExtendedEditDistances";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "texts [N]"},
      {"target", InputKind::kTextLists, "references for each of N texts"}};
  static constexpr const char* kUnit = "text";
  using Options = ExtendedEditDistanceOptions;
  struct State {
    at::Tensor sum;  // exact
    std::int64_t total = 0;
    Rows distances;  // kNone: instead of the sum

    void fields(Fields& f) {
      f("sum", sum)("total", total)("distances", distances);
    }
  };

  explicit ExtendedEditDistances(const Options& options) : options_(options) {}
  State observe(const TextList& preds, const TextLists& target) const;

 private:
  Options options_;
};

/// Extended edit distance (EED): edits of characters that turn a translation
/// into a reference, with jumps, and a cost for characters that are skipped or
/// used again, per character.
///
///     min(1, (edits + rho * v) / (length of the reference + rho * v))
///
/// v is how often places of the hypothesis are visited again, plus the number
/// of those never visited. Of several references, the nearest counts.
/// update(preds, target): texts [N] and a list of references for each, UTF-8;
/// texts [N] in target are one reference each.
/// Result: the mean, 0-dim float64, NaN before any update; with kSum the sum;
/// with kNone float64 [N]; in [0, 1] for each sample. The distance of equal
/// texts is above 0 ("a" and "a": 0.0909), as the place before the first
/// character counts as never visited; `skip_origin` makes it 0.
/// State: the exact sum, so that the value is the same for any split, and the
/// number of samples; with kNone the distances.
/// Empty texts have no characters; in English two spaces.
/// Errors: c10::ValueError for another number of preds than of target, for a
/// text without references, for what is not UTF-8, naming the sample and the
/// byte, and, with kJapanese, for texts that may not be in Unicode's
/// normalization form NFKC, into which TorchMetrics brings them.
/// Not differentiable.
/// Source: Stanchev, Wang and Ney 2019; TorchMetrics 1.9, whose values it
/// equals.
///
/// Example:
///     ExtendedEditDistance distance;
///     distance.update(std::vector<std::string>{"this is the prediction"},
///                     std::vector<std::string>{"this is the reference"});
///     double value = distance.compute().item<double>();
class ExtendedEditDistance final
    : public MetricOf<ExtendedEditDistance, ExtendedEditDistances, at::Tensor> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ExtendedEditDistance";
  static constexpr MetricSummary kSummary{
      "Extended edit distance of characters, with jumps (EED).",
      "[0, 1]",
      "",
      "eed",
      R"(\min \left( 1, \frac{e + \alpha j + \rho v}{|r| + \rho v} \right))",
      "Stanchev, Wang and Ney 2019"};
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<ExtendedEditDistance, ExtendedEditDistances,
                               at::Tensor>;

}  // namespace tally

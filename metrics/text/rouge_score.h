#pragma once

#include <string>
#include <vector>

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/kernels/text_notes.h"
#include "tally/metrics/text/options/rouge_tokenizer.h"

namespace tally {

/// What counts of several references of a text.
enum class RougeAccumulate {
  kBest,  ///< for each key the one with the highest F, the first one of equal
  kAvg,   ///< the mean over them
};

template <>
struct EnumNames<RougeAccumulate> {
  static constexpr const char* kNames[] = {"best", "avg"};
};

/// Options of ROUGEScore.
///
/// Example:
///     ROUGEScore rouge(
///         ROUGEScoreOptions().rouge_keys({"rouge2"}).use_stemmer(true));
struct ROUGEScoreOptions {
  /// Whether tokens of more than three characters are replaced by their stems:
  /// Porter's, with NLTK's changes.
  TORCH_ARG(bool, use_stemmer) = false;
  /// Several references of a text.
  TORCH_ARG(RougeAccumulate, accumulate) = RougeAccumulate::kBest;
  /// What is computed: rouge1 to rouge9, rougeL and rougeLsum. Default: rouge1,
  /// rouge2, rougeL, rougeLsum.
  TORCH_ARG(std::vector<std::string>, rouge_keys) = {"rouge1", "rouge2",
                                                     "rougeL", "rougeLsum"};
  /// How a line is split into tokens. Default: kRougeScore, which finds none in
  /// scripts other than Latin.
  TORCH_ARG(RougeTokenizer, tokenizer) = RougeTokenizer::kRougeScore;

 public:
  /// Splits lines by a function instead, which may be called from several
  /// threads at once. `label` identifies it, as functions cannot be compared:
  /// metrics with equal labels share states in a collection, load each other's
  /// checkpoints, and sync.
  ///
  ///     ROUGEScoreOptions options;
  ///     options.tokenizer("by comma", [](std::string_view line) {
  ///       std::vector<std::string> tokens{""};
  ///       for (char c : line) {
  ///         if (c == ',') tokens.emplace_back();
  ///         else tokens.back() += c;
  ///       }
  ///       return tokens;
  ///     });
  ROUGEScoreOptions& tokenizer(std::string label, TokenFunction function);
  const TokenFunction& token_function() const { return token_function_; }

  void visit(OptionVisitor& v) {
    v("use_stemmer", use_stemmer_,
      "Whether words are replaced by their stems.");
    v("accumulate", accumulate_,
      "Whether the best of several references counts, or their mean.");
    v("rouge_keys", rouge_keys_,
      "What to compute: rouge1 to rouge9, rougeL, rougeLsum.");
    v("tokenizer", tokenizer_, "How lines are split into tokens.");
    if (token_function_)
      v("token_function", token_label_,
        "Function that splits texts into tokens, by name.");
  }
  void validate(const char* metric) const;
  std::vector<std::string> without_effect() const;

 private:
  std::string token_label_;
  TokenFunction token_function_ = nullptr;
};

/// The observer of ROUGEScore.
class RougeSums {
 public:
  static constexpr const char* kName = "RougeSums";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "texts, one per row"},
      {"target", InputKind::kTextLists, "references, one or more per row"}};
  static constexpr const char* kUnit = "text";
  using Options = ROUGEScoreOptions;

  struct State {
    /// int64 [3 keys, 7]: the exact sums of F, precision and recall.
    at::Tensor sums;
    std::int64_t total = 0;  ///< texts
    Note no_tokens{internal::text::kNoTokens};
    Note unsplit{internal::text::kUnsplit};

    void fields(Fields& f) {
      f("sums", sums)("total", total)(no_tokens)(unsplit);
    }
    static State merge(const State& a, const State& b);
  };

  explicit RougeSums(const Options& options) : options_(options) {}
  State observe(const TextList& preds, const TextLists& target) const;

 private:
  Options options_;
};

/// ROUGE: how much of a reference a text (a summary) recalls, in n-grams that
/// both have, or in words of longest common subsequences.
///
///     precision = matches / n-grams of the text
///     recall = matches / n-grams of the reference
///     F = 2 precision recall / (precision + recall)
///
/// rouge1 to rouge9 count n-grams, rougeL the words of a longest common
/// subsequence. rougeLsum counts those words of each line of the reference that
/// are in a longest common subsequence with any line of the text, each word as
/// often as both texts have it at most. Lines end at "\n": put one after each
/// sentence, as rouge-score expects, and unlike TorchMetrics, which splits
/// sentences by itself. Tokens are runs of a-z and 0-9 in lower case, unless
/// `tokenizer` says otherwise; all else separates them, other letters, too.
/// update(preds, target): texts in UTF-8, N of them and one or more references
/// for each.
/// Result: for each key KEY_fmeasure, KEY_precision and KEY_recall, 0-dim
/// float64 in [0, 1], the means over the texts; NaN before any update.
/// State: exact sums, up to 2^30 texts; the same for any split.
/// A text or reference without tokens gives 0.
/// Warnings: rows with a text that has letters but no token (`no_tokens`), and
/// with one left whole in a script without spaces between words (`unsplit`).
/// Errors: c10::ValueError for inputs of different sizes, for a text without
/// references, and for text that is not UTF-8, naming sample and byte.
/// Not differentiable.
/// Source: Lin 2004; rouge-score 0.1.2, whose values it equals.
///
/// Example:
///     ROUGEScore rouge;
///     rouge.update(std::vector<std::string>{"the cat sat on the mat"},
///                  std::vector<std::string>{"a cat is on the mat"});
///     double f = rouge.compute()["rougeL_fmeasure"].item<double>();
class ROUGEScore final : public MetricOf<ROUGEScore, RougeSums, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "ROUGEScore";
  static constexpr MetricSummary kSummary{
      "Overlap of n-grams and subsequences with references (ROUGE).",
      "[0, 1]",
      "",
      "rouge, rouge-1, rouge-2, rouge-l, rouge-lsum",
      R"(\frac{|ngrams(\hat y) \cap ngrams(y)|}{|ngrams(y)|})",
      "Lin 2004"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<ROUGEScore, RougeSums, Results>;

}  // namespace tally

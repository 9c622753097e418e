#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/options.h"
#include "tally/metrics/text/kernels/text_notes.h"
#include "tally/metrics/text/kernels/words.h"
#include "tally/state/fields.h"

namespace tally {

/// The edits that turn references into hypotheses: of all samples together.
struct EditErrorsState {
  std::int64_t hits = 0;
  std::int64_t substitutions = 0;
  std::int64_t deletions = 0;
  std::int64_t insertions = 0;
  std::int64_t samples = 0;

  void fields(Fields& f) {
    f("hits", hits)("substitutions", substitutions);
    f("deletions", deletions)("insertions", insertions);
    f("samples", samples);
  }
};

/// The same for words of texts.
struct WordErrorsState : EditErrorsState {
  Note unsplit{internal::text::kUnsplit};

  void fields(Fields& f) {
    EditErrorsState::fields(f);
    f(unsplit);
  }
};

namespace internal::text {

// Each is NaN without samples.

/// Edits / tokens of the references; the number of edits if there are none.
double error_rate(const EditErrorsState& state);
/// Edits / (edits + hits); without references 0 if there are no hypotheses
/// either, else 1.
double match_error_rate(const EditErrorsState& state);
/// hits / tokens of the references * hits / tokens of the hypotheses; 0 if one
/// of them has none, 1 if neither has.
double information_preserved(const EditErrorsState& state);

}  // namespace internal::text

/// Options of metrics of words.
///
/// Example:
///     WordErrorRate rate(WordErrorOptions().split(WordSplit::kWhitespace));
struct WordErrorOptions {
  TORCH_ARG(WordSplit, split) = WordSplit::kSpace;

 public:
  void visit(OptionVisitor& v) {
    v("split", split_,
      "Where words end: spaces as in jiwer, or any whitespace.");
  }
};

/// The observer of metrics of words. They warn about texts left whole, in a
/// script without spaces between words (`unsplit`).
class WordErrors {
 public:
  static constexpr const char* kName = "WordErrors";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "texts [N]"},
      {"target", InputKind::kText, "reference texts [N]"}};
  static constexpr const char* kUnit = "text";
  using Options = WordErrorOptions;
  using State = WordErrorsState;

  explicit WordErrors(const Options& options) : split_(options.split()) {}
  State observe(const TextList& preds, const TextList& target) const;

 private:
  WordSplit split_;
};

/// Options of CharErrorRate.
///
/// Example:
///     CharErrorRate rate(CharErrorOptions().strip(false));
struct CharErrorOptions {
  /// As in jiwer; TorchMetrics counts them.
  TORCH_ARG(bool, strip) = true;

 public:
  void visit(OptionVisitor& v) {
    // Not in the key of what it is by default, which had no options.
    v("strip", strip_, strip_ ? OptionRole::kValue : OptionRole::kState,
      "Whether leading and trailing whitespace is removed.");
  }
};

/// The observer of metrics of characters.
class CharErrors {
 public:
  static constexpr const char* kName = "CharErrors";
  static constexpr const auto& kInputs = WordErrors::kInputs;
  static constexpr const char* kUnit = "text";
  using Options = CharErrorOptions;
  using State = EditErrorsState;

  explicit CharErrors(const Options& options) : strip_(options.strip()) {}
  State observe(const TextList& preds, const TextList& target) const;

 private:
  bool strip_;
};

/// What is computed of the edits of tokens.
enum class EditMeasure {
  kErrorRate,             ///< as WordErrorRate
  kMatchErrorRate,        ///< as MatchErrorRate
  kInformationLost,       ///< as WordInfoLost
  kInformationPreserved,  ///< as WordInfoPreserved
};

template <>
struct EnumNames<EditMeasure> {
  static constexpr const char* kNames[] = {"error_rate", "match_error_rate",
                                           "information_lost",
                                           "information_preserved"};
};

/// Options of TokenErrorRate.
///
/// Example:
///     TokenErrorRate rate(TokenErrorRateOptions().ignore_index(-100));
struct TokenErrorRateOptions {
  /// Tokens with this value are ignored, in preds and target: padding.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;
  TORCH_ARG(EditMeasure, measure) = EditMeasure::kErrorRate;

 public:
  void visit(OptionVisitor& v) {
    v("ignore_index", ignore_index_, internal::words::kIgnoredTokens);
    v("measure", measure_, OptionRole::kValue,
      "Which measure is computed from the edits.");
  }
};

/// The observer of TokenErrorRate.
class TokenErrors {
 public:
  static constexpr const char* kName = "TokenErrors";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kInteger, "int tokens [N, L]"},
      {"target", InputKind::kInteger, "int tokens [N, M]"}};
  static constexpr const char* kUnit = "text";
  using Options = TokenErrorRateOptions;
  using State = EditErrorsState;

  explicit TokenErrors(const Options& options)
      : ignore_index_(options.ignore_index()) {}
  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  std::optional<std::int64_t> ignore_index_;
};

}  // namespace tally

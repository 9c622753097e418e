#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/text/options/sentence_reduction.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of EditDistance.
///
/// Example:
///     EditDistance distance(EditDistanceOptions().substitution_cost(2));
struct EditDistanceOptions {
  /// The cost of a substitution; those of insertions and deletions are 1. From
  /// 2 on there are none.
  TORCH_ARG(std::int64_t, substitution_cost) = 1;
  TORCH_ARG(SentenceReduction, reduction) = SentenceReduction::kMean;

 public:
  void visit(OptionVisitor& v) {
    v("substitution_cost", substitution_cost_,
      internal::words::kSubstitutionCost);
    v("reduction", reduction_, internal::text::role_of(reduction_),
      internal::words::kReducedTexts);
  }
  Dimensions dimensions() const { return {Dimension::kSample}; }
  void validate(const char* metric) const;
};

/// Options of TokenEditDistance.
///
/// Example:
///     TokenEditDistance distance(
///         TokenEditDistanceOptions().ignore_index(-100));
struct TokenEditDistanceOptions {
  /// Tokens with this value are ignored, in preds and target: padding.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;
  /// As in EditDistance.
  TORCH_ARG(std::int64_t, substitution_cost) = 1;
  TORCH_ARG(SentenceReduction, reduction) = SentenceReduction::kMean;

 public:
  void visit(OptionVisitor& v) {
    v("ignore_index", ignore_index_, internal::words::kIgnoredTokens);
    v("substitution_cost", substitution_cost_,
      internal::words::kSubstitutionCost);
    v("reduction", reduction_, internal::text::role_of(reduction_),
      "How the values of the sequences are reduced.");
  }
  Dimensions dimensions() const { return {Dimension::kSample}; }
  void validate(const char* metric) const;
};

/// The state of edit distances.
struct EditDistancesState {
  std::int64_t sum = 0;
  std::int64_t total = 0;
  Rows distances;  // kNone: instead of the sum

  void fields(Fields& f) {
    f("sum", sum)("total", total)("distances", distances);
  }
};

namespace internal::text {

at::Tensor reduce_distances(const EditDistancesState& state,
                            SentenceReduction reduction);

}  // namespace internal::text

/// The observer of EditDistance.
class CharEditDistances {
 public:
  static constexpr const char* kName = "CharEditDistances";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kText, "texts [N]"},
      {"target", InputKind::kText, "reference texts [N]"}};
  static constexpr const char* kUnit = "text";
  using Options = EditDistanceOptions;
  using State = EditDistancesState;

  explicit CharEditDistances(const Options& options) : options_(options) {}
  State observe(const TextList& preds, const TextList& target) const;

 private:
  Options options_;
};

/// The observer of TokenEditDistance.
class TokenEditDistances {
 public:
  static constexpr const char* kName = "TokenEditDistances";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kInteger, "int tokens [N, L]"},
      {"target", InputKind::kInteger, "int tokens [N, M]"}};
  static constexpr const char* kUnit = "text";
  static bool keeps_on_cpu() { return true; }
  using Options = TokenEditDistanceOptions;
  using State = EditDistancesState;

  explicit TokenEditDistances(const Options& options) : options_(options) {}
  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  Options options_;
};

}  // namespace tally

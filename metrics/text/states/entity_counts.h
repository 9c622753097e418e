#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "tally/metrics/average.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/text/options/tag_rules.h"
#include "tally/metrics/text_list.h"
#include "tally/state/fields.h"

namespace tally {

/// Options of EntityPrecision, EntityRecall and EntityF1Score.
///
/// Example:
///     EntityF1Score f1(EntityScoreOptions().average(Average::kNone));
struct EntityScoreOptions {
  /// How the values of types are averaged.
  TORCH_ARG(Average, average) = Average::kMicro;
  TORCH_ARG(TagMode, mode) = TagMode::kDefault;
  /// What prefixes mean; with TagMode::kStrict, which requires it.
  TORCH_ARG(std::optional<TagScheme>, scheme) = std::nullopt;
  /// Whether prefixes stand behind the type, "PER-B" rather than "B-PER".
  TORCH_ARG(bool, suffix) = false;
  /// The value of a type that is not predicted (precision) or does not occur
  /// (recall), 0 or 1.
  TORCH_ARG(double, zero_division) = 0;

 public:
  void visit(OptionVisitor& v) {
    v.first<kClassAverages>("average", average_, OptionRole::kValue,
                            internal::words::kAverage);
    v("mode", mode_, "Read tags as conlleval does, or by a scheme.");
    v("scheme", scheme_, "Tagging scheme of the prefixes, for mode=strict.");
    v("suffix", suffix_, "Whether tags are PER-B rather than B-PER.");
    v("zero_division", zero_division_, OptionRole::kValue,
      "Value for a division by zero: 0 or 1.");
  }
  void validate(const char* metric) const;
};

/// Counts entities by the names of their types: the observer of
/// EntityPrecision, EntityRecall and EntityF1Score, which share it in a
/// collection if they read tags alike.
class EntityCounts {
 public:
  static constexpr const char* kName = "EntityCounts";
  static constexpr InputInfo kInputs[] = {
      {"preds", InputKind::kTokens, "tags, a list per sentence"},
      {"target", InputKind::kTokens, "tags, a list per sentence"}};
  static constexpr const char* kUnit = "text";
  using Options = EntityScoreOptions;

  struct State {
    Rows names;   ///< uint8: the names of the types in order, in UTF-8
    Rows counts;  ///< int64 [T, 4]: bytes of the name, and TypeCounts

    void fields(Fields& f) { f("names", names)("counts", counts); }
    static State merge(const State& a, const State& b);
  };

  explicit EntityCounts(const Options& options)
      : rules_{options.mode(), options.scheme().value_or(TagScheme::kIOB2),
               options.suffix()} {}
  State observe(const TextLists& preds, const TextLists& target) const;

 private:
  internal::text::TagRules rules_;
};

namespace internal::text {

/// Entities of a type.
struct TypeCounts {
  std::int64_t matches = 0;  ///< in both, at the same places
  std::int64_t preds = 0;
  std::int64_t target = 0;
};
using CountsByType = std::map<std::string, TypeCounts, std::less<>>;

/// Throws c10::ValueError for what is no such state.
CountsByType counts_by_type(const EntityCounts::State& state);

}  // namespace internal::text
}  // namespace tally

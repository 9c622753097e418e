#pragma once

#include "tally/metrics/metric_of.h"
#include "tally/metrics/text/states/entity_counts.h"

namespace tally {

/// Precision of named entities and other chunks that tags of tokens describe:
/// the fraction of predicted entities that are correct, with their type and
/// their first and last token.
///
///     tp / (tp + fp)
///
/// update(preds, target): a list of tags for each of N sentences, as many in
/// both; "B-PER" is a prefix and a type, "O" is no part of an entity.
/// By TagMode::kDefault an entity begins at B and S, at I and E after O, E and
/// S, and where the type changes, and goes on otherwise; any other prefix than
/// O is inside of one. The type is what stands behind the first "-", and "_"
/// without any. With TagMode::kStrict only what the scheme allows is an entity,
/// and the type is what is left without "-" at both ends.
/// Result: 0-dim float64 in [0, 1]; with Average::kNone one for each type that
/// occurs, by its name and in the order of names. It is zero_division for a
/// type that is not predicted, and for micro and weighted averages without any
/// entity; the mean over no types (kMacro) is NaN. A weighted average is 0 if
/// only preds have entities.
/// State: EntityCounts, integers by the names of types, which ranks need not
/// have seen all; the same for any split.
/// Errors: c10::ValueError for inputs of different sizes, naming the sample,
/// for empty tags, for text that is not UTF-8, and with TagMode::kStrict for a
/// prefix that the scheme does not have.
/// Not differentiable.
/// Source: seqeval 1.2.2, whose values it equals. It joins the sentences of a
/// call, here each stands alone: what precedes it never matters.
///
/// Example:
///     EntityPrecision precision;
///     std::vector<std::vector<std::string>> tags = {{"B-PER", "I-PER", "O"}};
///     precision.update(tags, tags);
///     double value = precision.compute().value().item<double>();
class EntityPrecision final
    : public MetricOf<EntityPrecision, EntityCounts, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "EntityPrecision";
  static constexpr MetricSummary kSummary{
      "Fraction of entities predicted by tags that are correct.",
      "[0, 1]",
      "",
      "ner precision, conlleval, seqeval",
      R"(\frac{TP}{TP + FP})",
      "Tjong Kim Sang and De Meulder 2003"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

/// Recall of named entities and other chunks: the fraction of entities in
/// target that are predicted, with their type and their first and last token.
///
///     tp / (tp + fn)
///
/// zero_division of a type that does not occur in target.
/// All else as EntityPrecision.
/// update(preds, target): see EntityPrecision.
///
/// Example:
///     EntityRecall recall(EntityScoreOptions()
///                             .mode(TagMode::kStrict)
///                             .scheme(TagScheme::kIOB2));
///     std::vector<std::vector<std::string>> tags = {{"B-PER", "I-PER", "O"}};
///     recall.update(tags, tags);
///     double value = recall.compute().value().item<double>();
class EntityRecall final
    : public MetricOf<EntityRecall, EntityCounts, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "EntityRecall";
  static constexpr MetricSummary kSummary{
      "Fraction of entities in the target's tags that are found.",
      "[0, 1]",
      "",
      "ner recall, conlleval, seqeval",
      R"(\frac{TP}{TP + FN})",
      "Tjong Kim Sang and De Meulder 2003"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

/// F1 of named entities and other chunks: the harmonic mean of EntityPrecision
/// and EntityRecall, for each type before averaging.
///
///     2 precision recall / (precision + recall)
///
/// 0 if both are 0. All else as EntityPrecision.
/// update(preds, target): see EntityPrecision.
///
/// Example:
///     EntityF1Score f1(EntityScoreOptions().average(Average::kNone));
///     std::vector<std::vector<std::string>> tags = {{"B-PER", "I-PER", "O"}};
///     f1.update(tags, tags);
///     double persons = f1.compute()["PER"].item<double>();
class EntityF1Score final
    : public MetricOf<EntityF1Score, EntityCounts, Results> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "EntityF1Score";
  static constexpr MetricSummary kSummary{
      "Harmonic mean of precision and recall of tagged entities.",
      "[0, 1]",
      "",
      "ner f1, conlleval, seqeval",
      R"(\frac{2 TP}{2 TP + FP + FN})",
      "Tjong Kim Sang and De Meulder 2003"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  Results evaluate(const State& state) const;
};

extern template class MetricOf<EntityPrecision, EntityCounts, Results>;
extern template class MetricOf<EntityRecall, EntityCounts, Results>;
extern template class MetricOf<EntityF1Score, EntityCounts, Results>;

}  // namespace tally

#include "tally/metrics/text/entity_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/text/kernels/tag_entities.h"
#include "tally/tests/testing/check_values.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::check_metric;
using testkit::check_values;
using testkit::refusal_of;
using Tags = std::vector<std::string>;
using TagRows = std::vector<Tags>;
using internal::text::TagEntities;
using internal::text::TagRules;

// "begin-end:TYPE" for each entity, the end being its last token.
std::vector<std::string> entities(const TagRules& rules, const Tags& tags) {
  TagEntities reader(rules);
  internal::text::TokenIds types;
  std::vector<TagEntities::Entity> found;
  reader.read(TextList(tags), "preds", 0, types, found);
  std::vector<std::string> texts;
  for (const auto& entity : found) {
    texts.push_back(std::to_string(entity.begin) + "-" +
                    std::to_string(entity.end - 1) + ":" +
                    std::string(types.token(entity.type)));
  }
  return texts;
}

TagRules strict(TagScheme scheme, bool suffix = false) {
  return {TagMode::kStrict, scheme, suffix};
}
constexpr TagRules kLenient{TagMode::kDefault, TagScheme::kIOB2, false};

double f1_of(const EntityScoreOptions& options, const TagRows& preds,
             const TagRows& target) {
  const EntityF1Score f1(options);
  return f1.evaluate(f1.observe(preds, target)).value().item<double>();
}

TEST(EntityScoresTest, PassTheHarness) {
  check_metric<EntityPrecision>("text/EntityPrecision");
  check_metric<EntityRecall>("text/EntityRecall");
  check_metric<EntityF1Score>("text/EntityF1Score");
}

TEST(EntityScoresTest, ValuesAreThoseOfSeqeval) {
  check_values<EntityPrecision>("text/EntityPrecision.values");
  check_values<EntityRecall>("text/EntityRecall.values");
  check_values<EntityF1Score>("text/EntityF1Score.values");
}

TEST(EntityScoresTest, TheSameTagsInEachScheme) {
  const Tags inside = {"I-P", "I-P"};
  EXPECT_THAT(entities(kLenient, inside), ElementsAre("0-1:P"));
  EXPECT_THAT(entities(strict(TagScheme::kIOB1), inside), ElementsAre("0-1:P"));
  for (const auto scheme :
       {TagScheme::kIOB2, TagScheme::kIOE2, TagScheme::kIOBES}) {
    EXPECT_THAT(entities(strict(scheme), inside), ElementsAre());
  }
  const Tags begins = {"B-P", "B-P"};
  EXPECT_THAT(entities(kLenient, begins), ElementsAre("0-0:P", "1-1:P"));
  EXPECT_THAT(entities(strict(TagScheme::kIOB1), begins), ElementsAre("1-1:P"));
  EXPECT_THAT(entities(strict(TagScheme::kIOB2), begins),
              ElementsAre("0-0:P", "1-1:P"));
  EXPECT_THAT(entities(strict(TagScheme::kIOBES), begins), ElementsAre());
  const Tags changes = {"B-P", "I-L"};
  EXPECT_THAT(entities(kLenient, changes), ElementsAre("0-0:P", "1-1:L"));
  EXPECT_THAT(entities(strict(TagScheme::kIOB1), changes),
              ElementsAre("1-1:L"));
  EXPECT_THAT(entities(strict(TagScheme::kIOB2), changes),
              ElementsAre("0-0:P"));
  EXPECT_THAT(entities(strict(TagScheme::kIOBES), changes), ElementsAre());
  const Tags ends = {"B-P", "E-P", "E-P"};
  EXPECT_THAT(entities(kLenient, ends), ElementsAre("0-1:P", "2-2:P"));
  EXPECT_THAT(entities(strict(TagScheme::kIOBES), ends), ElementsAre("0-1:P"));
}

TEST(EntityScoresTest, TypesAreReadFromTags) {
  EXPECT_THAT(entities(kLenient, {"B-A-B", "U-PER", "B", "B-"}),
              ElementsAre("0-0:A-B", "1-1:PER", "2-2:_", "3-3:_"));
  EXPECT_THAT(entities({TagMode::kDefault, TagScheme::kIOB2, true},
                       {"A-B-B", "\u4EBA-B", "B"}),
              ElementsAre("0-0:A-B", "1-1:\u4EBA", "2-2:_"));
  EXPECT_THAT(entities(strict(TagScheme::kIOB2), {"B--A-B-", "O", "B-"}),
              ElementsAre("0-0:A-B", "2-2:_"));
}

TEST(EntityScoresTest, StrictnessChangesTheValue) {
  const TagRows target = {{"B-P", "I-P"}}, preds = {{"I-P", "I-P"}};
  const auto options =
      EntityScoreOptions().mode(TagMode::kStrict).scheme(TagScheme::kIOB2);
  EXPECT_EQ(f1_of({}, preds, target), 1);
  EXPECT_EQ(f1_of(options, preds, target), 0);
}

TEST(EntityScoresTest, SentencesStandAlone) {
  // Where seqeval joins them, the first of these is an entity only in the very
  // first sentence, and the second begins where one before it has begun.
  EXPECT_THAT(entities(kLenient, {"X", "O"}), ElementsAre());
  EXPECT_THAT(entities(kLenient, {".-X", "I-X"}), ElementsAre("0-1:X"));
}

TEST(EntityScoresTest, MeansOverNoTypesAreUndefined) {
  const auto compute = [](Average average) {
    EntityF1Score f1(EntityScoreOptions().average(average));
    return f1.compute();
  };
  EXPECT_TRUE(std::isnan(compute(Average::kMacro).value().item<double>()));
  EXPECT_EQ(compute(Average::kMicro).value().item<double>(), 0);
  EXPECT_EQ(compute(Average::kWeighted).value().item<double>(), 0);
  EXPECT_TRUE(compute(Average::kNone).empty());
}

TEST(EntityScoresTest, TypesThatOnlyOneSideHasAreMerged) {
  EntityF1Score f1(EntityScoreOptions().average(Average::kNone)), other;
  f1.update(TagRows{{"B-PER"}}, TagRows{{"B-PER"}});
  EntityF1Score more(EntityScoreOptions().average(Average::kNone));
  more.update(TagRows{{"B-LOC", "O"}}, TagRows{{"O", "B-ORG"}});
  more.update(TagRows{{"B-\u4EBA"}}, TagRows{{"B-\u4EBA"}});
  f1.merge_state(more);
  const Results results = f1.compute();
  std::vector<std::string> names;
  for (const auto& [name, value] : results) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("LOC", "ORG", "PER", "\u4EBA"));
  EXPECT_EQ(results["PER"].item<double>(), 1);
  EXPECT_EQ(results["LOC"].item<double>(), 0);
}

TEST(EntityScoresTest, MetricsOfTheSameTagsShareAState) {
  MetricCollection metrics;
  metrics.add("precision", EntityPrecision());
  metrics.add("recall", EntityRecall());
  metrics.add("f1",
              EntityF1Score(EntityScoreOptions().average(Average::kMacro)));
  EXPECT_EQ(EntityPrecision().state_key(), EntityRecall().state_key());
  const TagRows target = {{"B-P", "I-P", "O", "B-L"}};
  const TagRows preds = {{"B-P", "I-P", "O", "O"}};
  metrics.update(preds, target);
  const Results results = metrics.compute();
  EXPECT_EQ(results["precision"].item<double>(), 1);
  EXPECT_EQ(results["recall"].item<double>(), 0.5);
  EXPECT_EQ(results["f1"].item<double>(), 0.5);
}

TEST(EntityScoresTest, RefusesBadInputs) {
  EntityF1Score f1;
  const auto refusal = [&](const TagRows& preds, const TagRows& target) {
    return refusal_of([&] { f1.update(preds, target); });
  };
  EXPECT_THAT(refusal({{"O"}}, {}),
              HasSubstr("expected as many preds as target, got 1 and 0"));
  EXPECT_THAT(refusal({{"O"}, {"O"}}, {{"O"}, {"O", "O"}}),
              HasSubstr("got 1 and 2 in sample 1"));
  EXPECT_THAT(refusal({{"O", ""}}, {{"O", "O"}}),
              HasSubstr("got an empty one at 1 in sample 0 of preds"));
  EXPECT_THAT(refusal({{"O"}}, {{"B-\xFF"}}),
              HasSubstr("expected target in UTF-8"));
  EXPECT_EQ(f1.update_count(), 0);

  EntityF1Score iob(
      EntityScoreOptions().mode(TagMode::kStrict).scheme(TagScheme::kIOB2));
  for (const char* tag : {"E-P", "X", "\u4EBA-P"}) {
    EXPECT_THAT(refusal_of([&] {
                  iob.update(TagRows{{"O", tag}}, TagRows{{"O", "O"}});
                }),
                HasSubstr("expected tags with a prefix of IOB, got '" +
                          std::string(tag) + "' at 1 in sample 0 of preds"));
  }
}

TEST(EntityScoresTest, RefusesBadOptions) {
  const auto refusal = [](const EntityScoreOptions& options) {
    return refusal_of([&] { EntityF1Score{options}; });
  };
  EXPECT_THAT(refusal(EntityScoreOptions().mode(TagMode::kStrict)),
              HasSubstr("expected a scheme with mode strict, got none"));
  EXPECT_THAT(refusal(EntityScoreOptions().scheme(TagScheme::kIOB2)),
              HasSubstr("expected mode strict with a scheme, got default"));
  EXPECT_THAT(refusal(EntityScoreOptions().zero_division(0.5)),
              HasSubstr("expected zero_division 0 or 1, got 0.5"));
}

TEST(EntityScoresTest, RefusesStatesThatAreNone) {
  EntityCounts::State state;
  state.counts = Rows(at::Tensor(internal::scalar_tensor(std::int64_t{1})));
  EXPECT_THAT(refusal_of([&] { EntityF1Score().evaluate(state); }),
              HasSubstr("expected counts int64 [1, 4]"));
}

}  // namespace
}  // namespace tally

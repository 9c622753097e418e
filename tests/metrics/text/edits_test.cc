#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/text/char_error_rate.h"
#include "tally/metrics/text/edit_distance.h"
#include "tally/metrics/text/match_error_rate.h"
#include "tally/metrics/text/token_edit_distance.h"
#include "tally/metrics/text/token_error_rate.h"
#include "tally/metrics/text/translation_edit_rate.h"
#include "tally/metrics/text/word_error_rate.h"
#include "tally/metrics/text/word_info_lost.h"
#include "tally/metrics/text/word_info_preserved.h"
#include "tally/metrics/wrappers/boot_strapper.h"
#include "tally/metrics/wrappers/min_max_wrapper.h"
#include "tally/metrics/wrappers/multitask_wrapper.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

template <class M>
double value_of(const Texts& preds, const Texts& target,
                typename M::Options options = {}) {
  M metric(options);
  metric.update(preds, target);
  return metric.compute().template item<double>();
}

TEST(EditsTest, WordErrorRatePassesTheHarness) {
  testkit::check_metric<WordErrorRate>("text/WordErrorRate");
}
TEST(EditsTest, MatchErrorRatePassesTheHarness) {
  testkit::check_metric<MatchErrorRate>("text/MatchErrorRate");
}
TEST(EditsTest, WordInfoLostPassesTheHarness) {
  testkit::check_metric<WordInfoLost>("text/WordInfoLost");
}
TEST(EditsTest, WordInfoPreservedPassesTheHarness) {
  testkit::check_metric<WordInfoPreserved>("text/WordInfoPreserved");
}
TEST(EditsTest, CharErrorRatePassesTheHarness) {
  testkit::check_metric<CharErrorRate>("text/CharErrorRate");
}
TEST(EditsTest, TokenErrorRatePassesTheHarness) {
  testkit::check_metric<TokenErrorRate>("text/TokenErrorRate");
}

testkit::HarnessOptions in_order() {
  testkit::HarnessOptions options;
  options.order_matters = true;  // with reduction none
  return options;
}
TEST(EditsTest, EditDistancePassesTheHarness) {
  testkit::check_metric<EditDistance>("text/EditDistance", in_order());
}
TEST(EditsTest, TokenEditDistancePassesTheHarness) {
  testkit::check_metric<TokenEditDistance>("text/TokenEditDistance",
                                           in_order());
}

TEST(WordErrorRateTest, OneTabDoesNotSeparateWordsTwoDo) {
  EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {"a\tb"}), 2);
  EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {"a\t\tb"}), 0);
  EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {"a\nb"}), 2);
  EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {"a\r\nb"}), 0);
  EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {"a\u00A0b"}), 2);
  EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {"\u3000a b"}), 0);
  EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {"\ta b\n"}), 0);
  const auto split = WordErrorOptions().split(WordSplit::kWhitespace);
  for (const char* const other : {"a\tb", "a\nb", "a\u00A0b", "a\u2028b"}) {
    EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {other}, split), 0) << other;
  }
  EXPECT_EQ(value_of<WordErrorRate>({"a b"}, {"a\u200Bb"}, split), 2);
}

TEST(WordErrorRateTest, WordsMayEndInAnyCharacter) {
  EXPECT_EQ(value_of<WordErrorRate>({"the caf\u00E9"}, {"the cafe"}), 0.5);
  EXPECT_EQ(value_of<WordErrorRate>({"\u4E16"}, {"\u4E16 \u754C"}), 0.5);
}

TEST(WordErrorRateTest, WithoutReferencesItCountsInsertions) {
  EXPECT_EQ(value_of<WordErrorRate>({"a b", "c"}, {"", " "}), 3);
  EXPECT_EQ(value_of<MatchErrorRate>({"a b"}, {""}), 1);
  EXPECT_EQ(value_of<WordInfoLost>({"a b"}, {""}), 1);
  EXPECT_EQ(value_of<WordInfoPreserved>({""}, {"a b"}), 0);
  EXPECT_EQ(value_of<MatchErrorRate>({""}, {""}), 0);
  EXPECT_EQ(value_of<WordInfoLost>({""}, {""}), 0);
}

TEST(WordErrorRateTest, WithoutUpdates) {
  const auto is_nan = [](const at::Tensor& value) {
    return std::isnan(value.item<double>());
  };
  EXPECT_TRUE(is_nan(WordErrorRate().compute()));
  EXPECT_TRUE(is_nan(CharErrorRate().compute()));
  EXPECT_TRUE(is_nan(MatchErrorRate().compute()));
  EXPECT_TRUE(is_nan(WordInfoLost().compute()));
  EXPECT_TRUE(is_nan(WordInfoPreserved().compute()));
  EXPECT_TRUE(is_nan(TranslationEditRate().compute()));
  WordErrorRate none;
  none.update(std::vector<std::string>{}, std::vector<std::string>{});
  EXPECT_TRUE(is_nan(none.compute()));
}

// Of alignments with as few edits, rapidfuzz's: TorchMetrics takes as many hits
// as the lengths and the distance allow.
TEST(MatchErrorRateTest, TheAlignmentIsThatOfRapidfuzz) {
  EXPECT_EQ(value_of<MatchErrorRate>({"b c"}, {"a b"}), 1);
  EXPECT_NEAR(value_of<MatchErrorRate>({"a b"}, {"b c"}), 2 / 3.0, 1e-15);
  EXPECT_EQ(value_of<WordInfoPreserved>({"x a b c"}, {"a b c d"}), 0.5625);
}

TEST(CharErrorRateTest, CountsSpacesAtTheEndsOnRequest) {
  CharErrorRate rate(CharErrorOptions().strip(false));
  rate.update("ab  ", "ab");
  EXPECT_EQ(rate.number(), 1);
  EXPECT_NE(rate.state_key(), CharErrorRate().state_key());
}

TEST(CharErrorRateTest, SpacesInsideCountAndThoseAtTheEndsDoNot) {
  EXPECT_NEAR(value_of<CharErrorRate>({"a  b"}, {"a b"}), 1 / 3.0, 1e-15);
  EXPECT_EQ(value_of<CharErrorRate>({"a b\r\n"}, {"a b"}), 0);
  EXPECT_EQ(value_of<CharErrorRate>({"cafe\u0301"}, {"caf\u00E9"}), 0.5);
  EXPECT_EQ(value_of<CharErrorRate>({"a b"}, {""}), 3);
  EXPECT_EQ(value_of<CharErrorRate>({"a"}, {"\uFEFF"
                                            "a"}),
            0.5);
}

TEST(EditDistanceTest, IsExactFarFromTheDiagonal) {
  std::string preds, target;
  for (char32_t c = 0; c < 100; ++c) {
    target += {'\xE4', static_cast<char>('\xB8' + c / 64),
               static_cast<char>('\x80' + c % 64)};
  }
  preds = std::string(40, 'x') + target;
  target += std::string(40, 'y');
  EXPECT_EQ(value_of<EditDistance>({preds}, {target}), 80);
}

TEST(EditDistanceTest, WhiteSpaceAtTheEndsCounts) {
  EXPECT_EQ(value_of<EditDistance>({" a\n"}, {"a"}), 2);
}

TEST(EditDistanceTest, WithoutUpdates) {
  EXPECT_TRUE(EditDistance().compute().isnan().item<bool>());
  const auto none = EditDistanceOptions().reduction(SentenceReduction::kNone);
  EXPECT_EQ(EditDistance(none).compute().sizes(), at::IntArrayRef({0}));
  const auto sum = EditDistanceOptions().reduction(SentenceReduction::kSum);
  EXPECT_EQ(EditDistance(sum).compute().scalar_type(), at::kLong);
  EXPECT_THAT(refusal_of([] {
                EditDistance(EditDistanceOptions().substitution_cost(-1));
              }),
              HasSubstr("EditDistance: expected substitution_cost to be at "
                        "least 0, got -1"));
}

TEST(EditsTest, WhatIsNotUtf8NamesTheFirstSample) {
  Texts preds(300, "a b"), target(300, "a b");
  preds[299] = "\xFF";
  target[130] = "caf\xE9";
  CharErrorRate chars;
  WordErrorRate words;
  EditDistance distance;
  for (Metric* metric :
       std::initializer_list<Metric*>{&chars, &words, &distance}) {
    EXPECT_THAT(refusal_of([&] { metric->update(preds, target); }),
                HasSubstr("expected target in UTF-8, got byte 0xE9 at byte 3 "
                          "of sample 130"));
    EXPECT_EQ(metric->update_count(), 0);
  }
}

TEST(EditsTest, OtherCountsAreRefused) {
  WordErrorRate words;
  EXPECT_THAT(refusal_of([&] {
                words.update(Texts{"a"}, Texts{"a", "b"});
              }),
              HasSubstr("expected as many preds as target, got 1 and 2 "
                        "(WordErrorRate)"));
  EXPECT_EQ(words.update_count(), 0);
}

TEST(EditsTest, ACollectionEvaluatesWordsOnce) {
  MetricCollection metrics;
  metrics.add("wer", WordErrorRate());
  metrics.add("mer", MatchErrorRate());
  metrics.add("wil", WordInfoLost());
  metrics.add("wip", WordInfoPreserved());
  metrics.add("cer", CharErrorRate());
  metrics.update(Texts{"the cat sat"}, Texts{"the cat sat down"});
  EXPECT_EQ(metrics.groups().size(), 2u);
  const Results results = metrics.compute();
  EXPECT_EQ(results["wer"].item<double>(), 0.25);
  EXPECT_EQ(results["wip"].item<double>(), 0.75);
}

TEST(EditsTest, WrappersTakeTexts) {
  const Texts preds = {"a b c", "d", "e f"}, target = {"a b", "d", "e g"};
  BootStrapper copies(WordErrorRate(), BootStrapperOptions(20).raw(true));
  // So many rows that each copy draws some.
  for (int i = 0; i < 8; ++i) copies.update(preds, target);
  const at::Tensor raw = copies.compute()["raw"];
  EXPECT_EQ(raw.numel(), 20);
  EXPECT_TRUE(raw.ge(0).logical_and(raw.le(0.5)).all().item<bool>());
  EXPECT_GT(copies.compute()["std"].item<double>(), 0);
  MultitaskWrapper tasks;
  tasks.add("speech", WordErrorRate());
  tasks.add("age", MeanSquaredError());
  const TaskValues ours = {
      {"speech", InputValue::of(preds)},
      {"age", InputValue::of(at::tensor({1.0, 2.0}, at::kDouble))}};
  const TaskValues theirs = {
      {"speech", InputValue::of(target)},
      {"age", InputValue::of(at::tensor({1.0, 4.0}, at::kDouble))}};
  tasks.update(ours, theirs);
  EXPECT_EQ(tasks.compute()["speech"].item<double>(), 0.4);
  EXPECT_EQ(tasks.compute()["age"].item<double>(), 2);
  MinMaxMetric best((WordErrorRate()));
  best.update(preds, target);
  EXPECT_EQ(best.compute()["raw"].item<double>(), 0.4);
}

TEST(TokenErrorRateTest, EqualsWordsWithoutPadding) {
  const at::Tensor preds = at::tensor({5, 6, 7, 0, 1, 0}).reshape({2, 3});
  const at::Tensor target =
      at::tensor({5, 0, 0, 1, 9, 8, 0, 1}).reshape({2, 4});
  TokenErrorRate rate(TokenErrorRateOptions().ignore_index(0));
  EXPECT_EQ(rate.forward(preds, target).item<double>(),
            value_of<WordErrorRate>({"5 6 7", "1"}, {"5 1", "9 8 1"}));
  EXPECT_FALSE(rate.higher_is_better().value());
  EXPECT_THAT(
      refusal_of([&] { rate.update(preds[0], target); }),
      HasSubstr("expected preds of shape [N, L], got [3] (TokenErrorRate)"));
  EXPECT_THAT(
      refusal_of([&] { rate.update(preds, target.narrow(0, 0, 1)); }),
      HasSubstr("expected preds [N, L] and target [N, M], got [2, 3] and [1, "
                "4]"));
  EXPECT_THAT(refusal_of<c10::TypeError>(
                  [&] { rate.update(preds.to(at::kFloat), target); }),
              HasSubstr("preds"));
  rate.update(at::empty({0, 3}, at::kLong), at::empty({0, 0}, at::kInt));
  EXPECT_EQ(rate.update_count(), 2);
}

// Whatever numbers tokens have: small, large, negative.
TEST(TokenErrorRateTest, TellsTokensApartByTheirNumbersAlone) {
  const at::Tensor preds =
      at::tensor({0, 1, 2, 3, 0, 1, 4, 4, 1, 0, 2, 2}).reshape({3, 4});
  const at::Tensor target =
      at::tensor({0, 2, 2, 3, 1, 1, 4, 0, 1, 0, 3, 2}).reshape({3, 4});
  const double expected =
      TokenErrorRate().forward(preds, target).item<double>();
  EXPECT_EQ(expected, 4.0 / 12);
  const at::Tensor names =
      at::tensor({std::int64_t{70'000}, std::int64_t{-1}, std::int64_t{65'535},
                  std::int64_t{65'536}, std::int64_t{1} << 40});
  const auto named = [&](const at::Tensor& tokens) {
    return names.index_select(0, tokens.reshape(-1)).reshape(tokens.sizes());
  };
  EXPECT_EQ(
      TokenErrorRate().forward(named(preds), named(target)).item<double>(),
      expected);
}

TEST(WordErrorRateTest, NotesTextsLeftWhole) {
  const auto note = [](const Texts& texts) {
    return WordErrorRate().observe(texts, Texts(texts.size(), "a")).unsplit;
  };
  // Of two ideographs or more; a single one is a word. Korean has spaces.
  const Note some = note({"a", "\u4ECA", "\u4ECA\u5929", "\uC624\uB298",
                          "\u4ECA \u5929", "\u0E2A\u0E27\u0E31"});
  EXPECT_EQ(some.rows(), 6);
  EXPECT_EQ(some.count(), 2);
  EXPECT_EQ(some.first(), 2);
  // References, too.
  EXPECT_EQ(WordErrorRate()
                .observe(Texts{"a", "b"}, Texts{"a", "\u4ECA\u5929"})
                .unsplit.first(),
            1);
  // The same with several threads.
  Texts many(1000, "a");
  for (std::size_t i = 100; i < many.size(); i += 3) many[i] = "\u4ECA\u5929";
  EXPECT_EQ(note(many).count(), 300);
  EXPECT_EQ(note(many).first(), 100);
}

}  // namespace
}  // namespace tally

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/text/extended_edit_distance.h"
#include "tally/metrics/text/translation_edit_rate.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

template <class M>
double value_of(const char* pred, const char* target,
                typename M::Options options = {}) {
  M metric(options);
  metric.update(pred, Texts{target});
  return metric.compute().template item<double>();
}

testkit::HarnessOptions in_order() {
  testkit::HarnessOptions options;
  options.order_matters = true;  // of values of samples
  return options;
}

TEST(TranslationEditRateTest, PassesTheHarness) {
  testkit::check_metric<TranslationEditRate>("text/TranslationEditRate",
                                             in_order());
}
TEST(ExtendedEditDistanceTest, PassesTheHarness) {
  testkit::check_metric<ExtendedEditDistance>("text/ExtendedEditDistance",
                                              in_order());
}

TEST(TranslationEditRateTest, WithoutReferenceWords) {
  EXPECT_EQ(value_of<TranslationEditRate>("a", ""), 1);
  EXPECT_EQ(value_of<TranslationEditRate>("", ""), 0);
  const auto each = TranslationEditRateOptions().sentence_level(true);
  EXPECT_EQ(TranslationEditRate(each).compute().sizes(), at::IntArrayRef({0}));
}

TEST(TranslationEditRateTest, SaysWhichOptionHasNoEffect) {
  using Options = TranslationEditRateOptions;
  EXPECT_EQ(Options().asian_support(true).without_effect().size(), 1);
  for (const Options& options :
       {Options(), Options().asian_support(true).normalize(true),
        Options().asian_support(true).no_punctuation(true)}) {
    EXPECT_TRUE(options.without_effect().empty());
  }
  const std::vector<std::string> texts = {"a", "\u4ECA\u5929"};
  EXPECT_EQ(TranslationEditRate().observe(texts, texts).unsplit.count(), 1);
  EXPECT_EQ(TranslationEditRate(Options().asian_support(true).normalize(true))
                .observe(texts, texts)
                .unsplit.count(),
            0);
}

TEST(TranslationEditRateTest, NormalizesAsTercom) {
  const auto options = TranslationEditRateOptions().normalize(true);
  EXPECT_EQ(value_of<TranslationEditRate>("It's U.S. 1,000-5",
                                          "it 's u . s . 1,000 - 5", options),
            0);
  EXPECT_EQ(value_of<TranslationEditRate>("It's", "it's"), 0);
  EXPECT_EQ(value_of<TranslationEditRate>(
                "It's", "it's", TranslationEditRateOptions().lowercase(false)),
            1);
}

// Fractions: the mean lengths of references.
TEST(TranslationEditRateTest, AnySplitGivesTheSameBits) {
  Texts preds;
  std::vector<Texts> target;
  for (int i = 0; i < 50; ++i) {
    preds.push_back("a b c");
    target.push_back(
        {"a b", std::string("c d e f"), std::string(i, 'x') + " y"});
    target.back().resize(1 + i % 3);
  }
  TranslationEditRate together, one_by_one;
  together.update(preds, target);
  for (std::size_t i = preds.size(); i-- > 0;) {
    one_by_one.update(Texts{preds[i]}, std::vector<Texts>{target[i]});
  }
  EXPECT_TRUE(together.compute().equal(one_by_one.compute()));
}

TEST(ExtendedEditDistanceTest, EqualTextsAreApartUnlessTheOriginIsSkipped) {
  const auto skip = ExtendedEditDistanceOptions().skip_origin(true);
  EXPECT_NEAR(value_of<ExtendedEditDistance>("a", "a"), 1 / 11.0, 1e-15);
  EXPECT_EQ(value_of<ExtendedEditDistance>("a", "a", skip), 0);
  EXPECT_EQ(value_of<ExtendedEditDistance>("", "", skip), 0);
  EXPECT_NEAR(value_of<ExtendedEditDistance>("the the the", "the"), 0.4805,
              5e-5);
}

TEST(ExtendedEditDistanceTest, AnAbbreviationSwallowsTheNextCharacter) {
  EXPECT_EQ(value_of<ExtendedEditDistance>("x Mr Smith", "Mr Jones"),
            value_of<ExtendedEditDistance>("x Mr Tmith", "Mr Wones"));
}

TEST(ExtendedEditDistanceTest, JapaneseTextsMustBeNormalized) {
  ExtendedEditDistance distance(
      ExtendedEditDistanceOptions().language(SentenceLanguage::kJapanese));
  distance.update("猫", Texts{"猫"});
  EXPECT_THAT(
      refusal_of([&] { distance.update("テスト", Texts{"x ﾃｽﾄ"}); }),
      HasSubstr("expected target in Unicode's normalization form NFKC for "
                "language=ja, got a text that may not be from code point 2 of "
                "sample 0 on"));
  EXPECT_EQ(distance.update_count(), 1);
}

TEST(ExtendedEditDistanceTest, CostsAreChecked) {
  const auto refusal = [](ExtendedEditDistanceOptions options) {
    return refusal_of([&] { ExtendedEditDistance distance(options); });
  };
  EXPECT_THAT(refusal(ExtendedEditDistanceOptions().rho(-0.5)),
              HasSubstr("ExtendedEditDistance: expected rho to be finite and "
                        "at least 0, got -0.5"));
  EXPECT_THAT(refusal(ExtendedEditDistanceOptions().alpha(
                  std::numeric_limits<double>::infinity())),
              HasSubstr("alpha"));
  EXPECT_THAT(refusal(ExtendedEditDistanceOptions().deletion(-1)),
              HasSubstr("deletion"));
  EXPECT_THAT(refusal(ExtendedEditDistanceOptions().insertion(-1)),
              HasSubstr("insertion"));
}

TEST(ExtendedEditDistanceTest, WithoutUpdates) {
  EXPECT_TRUE(ExtendedEditDistance().compute().isnan().item<bool>());
  const auto sum =
      ExtendedEditDistanceOptions().reduction(SentenceReduction::kSum);
  EXPECT_EQ(ExtendedEditDistance(sum).compute().item<double>(), 0);
  const auto none =
      ExtendedEditDistanceOptions().reduction(SentenceReduction::kNone);
  EXPECT_EQ(ExtendedEditDistance(none).compute().sizes(), at::IntArrayRef({0}));
}

template <class M>
void expect_refusals() {
  M metric;
  EXPECT_THAT(refusal_of([&] {
                metric.update(Texts{"a", "b"}, std::vector<Texts>{{"a"}, {}});
              }),
              HasSubstr("expected at least one reference for each text, got "
                        "none for sample 1"));
  EXPECT_THAT(refusal_of([&] {
                metric.update(Texts{"a", "b"}, Texts{"a"});
              }),
              HasSubstr("expected as many preds as target, got 2 and 1"));
  EXPECT_THAT(refusal_of([&] { metric.update("a", Texts{"\xC3"}); }),
              HasSubstr("expected target in UTF-8, got byte 0xC3 at byte 0 of "
                        "sample 0"));
  EXPECT_EQ(metric.update_count(), 0);
}

TEST(TranslationEditRateTest, BadInputsAreRefused) {
  expect_refusals<TranslationEditRate>();
}
TEST(ExtendedEditDistanceTest, BadInputsAreRefused) {
  expect_refusals<ExtendedEditDistance>();
}

}  // namespace
}  // namespace tally

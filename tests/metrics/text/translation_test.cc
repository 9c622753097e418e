#include <ATen/core/Tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/text/bleu_score.h"
#include "tally/metrics/text/chrf_score.h"
#include "tally/metrics/text/sacre_bleu_score.h"
#include "tally/tests/testing/check_values.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::check_metric;
using testkit::check_values;
using testkit::refusal_of;
using Texts = std::vector<std::string>;
using TextRows = std::vector<Texts>;

template <class M>
double value_of(const M& metric, const Texts& preds, const TextRows& target) {
  return metric.evaluate(metric.observe(preds, target)).template item<double>();
}

double sacre(const SacreBLEUScoreOptions& options, const std::string& pred,
             const std::string& reference) {
  return value_of(SacreBLEUScore(options), {pred}, {{reference}});
}

double chrf(const CHRFScoreOptions& options, const std::string& pred,
            const std::string& reference) {
  return value_of(CHRFScore(options), {pred}, {{reference}});
}

SacreBLEUScoreOptions smoothed(BleuSmoothing method) {
  return SacreBLEUScoreOptions().smooth_method(method);
}

TEST(TranslationTest, PassTheHarness) {
  check_metric<BLEUScore>("text/BLEUScore");
  check_metric<SacreBLEUScore>("text/SacreBLEUScore");
  check_metric<CHRFScore>("text/CHRFScore");
}

TEST(TranslationTest, ValuesAreThoseOfSacrebleu) {
  check_values<BLEUScore>("text/BLEUScore.values");
  check_values<SacreBLEUScore>("text/SacreBLEUScore.values");
  check_values<CHRFScore>("text/CHRFScore.values");
}

TEST(TranslationTest, TenThousandWords) {
  std::string pred, reference;
  for (int i = 0; i < 10000; ++i) {
    const int word = i * i % 9973 % 50;
    reference += (i == 0 ? "w" : " w") + std::to_string(word);
    pred += (i == 0 ? "w" : " w") + std::to_string(word + i / 7 % 2);
  }
  std::ifstream file("tests/reference/data/text/long_translation.json");
  const auto expected = nlohmann::json::parse(file);
  EXPECT_NEAR(sacre({}, pred, reference), expected.at("bleu"), 1e-9);
  EXPECT_NEAR(chrf(CHRFScoreOptions().n_word_order(0), pred, reference),
              expected.at("chrf"), 1e-9);
}

TEST(SacreBLEUScoreTest, SmoothsOrdersWithoutMatches) {
  const auto value = [](BleuSmoothing method) {
    return 100 * sacre(smoothed(method), "a b c d", "a x c y");
  };
  EXPECT_NEAR(value(BleuSmoothing::kExp), 18.995892, 1e-6);
  EXPECT_NEAR(value(BleuSmoothing::kFloor), 9.554428, 1e-6);
  EXPECT_NEAR(value(BleuSmoothing::kAddK), 37.991784, 1e-6);
  EXPECT_EQ(value(BleuSmoothing::kNone), 0);
}

TEST(SacreBLEUScoreTest, ShortTextsNeedEffectiveOrder) {
  for (const auto method : {BleuSmoothing::kExp, BleuSmoothing::kFloor,
                            BleuSmoothing::kAddK, BleuSmoothing::kNone}) {
    const SacreBLEUScoreOptions options = smoothed(method);
    EXPECT_NEAR(sacre(options, "the cat", "the cat"),
                method == BleuSmoothing::kAddK ? 1 : 0, 1e-15);
    EXPECT_NEAR(sacre(SacreBLEUScoreOptions(options).effective_order(true),
                      "the cat", "the cat"),
                1, 1e-15);
  }
}

TEST(SacreBLEUScoreTest, IsZeroWithoutAnyMatchWhateverTheSmoothing) {
  for (const auto method :
       {BleuSmoothing::kExp, BleuSmoothing::kFloor, BleuSmoothing::kAddK}) {
    EXPECT_EQ(sacre(smoothed(method), "a b c d e", "v w x y z"), 0);
  }
}

TEST(SacreBLEUScoreTest, TakesTheShorterOfTwoLengthsAsClose) {
  const auto state = SacreBLEUScore().observe(
      Texts{"a b c"}, TextRows{{"a b c d", "a b", "a b c d e f"}});
  EXPECT_EQ(state.target_len, 2);
}

TEST(SacreBLEUScoreTest, PutsIntoLowerCaseBeforeTokenizing) {
  // The sigma ends a word only before the point is a token of its own.
  const auto options =
      SacreBLEUScoreOptions().lowercase(true).n_gram(1).tokenize(
          BleuTokenizer::k13a);
  EXPECT_EQ(sacre(options, "\u0391\u03A3.\u0391", "\u03B1\u03C3 . \u03B1"), 1);
}

TEST(SacreBLEUScoreTest, StripsTheEndBeforeTokenizing) {
  const auto options =
      SacreBLEUScoreOptions().n_gram(1).tokenize(BleuTokenizer::kIntl);
  EXPECT_EQ(sacre(options, "1.\n", "1."), 1);
  EXPECT_EQ(sacre(options, "1.", "1 ."), 0);
}

TEST(SacreBLEUScoreTest, GivesOrdersLeftOutToTheOthers) {
  const auto options = SacreBLEUScoreOptions().n_gram(3).effective_order(true);
  const double plain = sacre(options, "a b", "a c");
  EXPECT_EQ(plain,
            sacre(SacreBLEUScoreOptions(options).n_gram(2), "a b", "a c"));
  EXPECT_NEAR(sacre(SacreBLEUScoreOptions(options).weights({0.25, 0.25, 0.5}),
                    "a b", "a c"),
              plain, 1e-15);
}

TEST(SacreBLEUScoreTest, SignatureIsThatOfSacrebleuAndTallysVersion) {
  const std::string version = "|version:2.6.0|tally:0.1.0|unicode:15.0";
  SacreBLEUScore bleu;
  EXPECT_EQ(bleu.signature(),
            "nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp" + version);
  bleu.update(Texts{"a", "b"}, Texts{"a", "c"});
  EXPECT_EQ(bleu.signature(),
            "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" + version);
  bleu.update(Texts{"a"}, TextRows{{"a", "b"}});
  EXPECT_EQ(bleu.signature(),
            "nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp" + version);

  SacreBLEUScore other(smoothed(BleuSmoothing::kFloor)
                           .lowercase(true)
                           .effective_order(true)
                           .tokenize(BleuTokenizer::kZh)
                           .n_gram(2)
                           .weights({0.25, 0.75}));
  other.update(Texts{"a"}, TextRows{{"a", "b"}});
  EXPECT_EQ(other.signature(),
            "nrefs:2|case:lc|eff:yes|tok:zh|smooth:floor[0.10]|version:2.6.0"
            "|n:2|weights:[0.25, 0.75]|tally:0.1.0|unicode:15.0");
  EXPECT_THAT(SacreBLEUScore(smoothed(BleuSmoothing::kAddK)).signature(),
              HasSubstr("|smooth:add-k[1.00]|"));

  CHRFScore plain;
  plain.update(Texts{"a"}, Texts{"a"});
  EXPECT_EQ(plain.signature(),
            "nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no" + version);
  const CHRFScore changed(CHRFScoreOptions()
                              .eps_smoothing(true)
                              .whitespace(true)
                              .lowercase(true)
                              .beta(3));
  EXPECT_EQ(changed.signature(),
            "nrefs:var|case:lc|eff:no|nc:6|nw:2|space:yes|version:2.6.0"
            "|beta:3|tally:0.1.0|unicode:15.0");
}

TEST(BLEUScoreTest, SmoothingLeavesOrdersWithoutMatches) {
  // TorchMetrics gives 0 for both.
  const auto smooth = BLEUScoreOptions().smooth(true);
  EXPECT_NEAR(value_of(BLEUScore(smooth), {"a b c d"}, {{"a x c y"}}),
              0.37991784, 1e-8);
  EXPECT_EQ(value_of(BLEUScore(), {"a b c d"}, {{"a x c y"}}), 0);
}

TEST(BLEUScoreTest, OrdersWithoutWeightMayHaveNoMatch) {
  const BLEUScore bleu(BLEUScoreOptions().n_gram(2).weights({1, 0}));
  EXPECT_EQ(value_of(bleu, {"a b"}, {{"b a"}}), 1);
}

TEST(CHRFScoreTest, EmptyAndShortTexts) {
  const auto plain = CHRFScoreOptions().n_word_order(0);
  EXPECT_EQ(chrf(plain, "", ""), 0);
  EXPECT_EQ(chrf(plain, "a b", "ab"), 1);
  EXPECT_NEAR(chrf(CHRFScoreOptions(plain).whitespace(true), "a b", "ab"),
              0.454545, 1e-6);
  EXPECT_EQ(chrf(plain, "a", "a"), 1);
  EXPECT_NEAR(chrf(CHRFScoreOptions(plain).eps_smoothing(true), "a", "a"),
              0.166667, 1e-6);
  EXPECT_EQ(CHRFScore().compute().item<double>(), 0);
}

TEST(CHRFScoreTest, CountsOrdersThatReferencesHave) {
  const CHRFScore chrf(CHRFScoreOptions().n_char_order(3).n_word_order(0));
  const auto third = [&](const char* pred, const char* reference) {
    const auto counts = chrf.observe(Texts{pred}, Texts{reference}).counts;
    const auto* const row = counts.const_data_ptr<std::int64_t>() + 6;
    return std::vector<std::int64_t>(row, row + 3);
  };
  EXPECT_THAT(third("abc", "ab"), ::testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(third("ab", "abc"), ::testing::ElementsAre(0, 1, 0));
}

TEST(CHRFScoreTest, CutsOneMarkOffAWord) {
  const CHRFScore words(CHRFScoreOptions().n_char_order(1).n_word_order(1));
  // Words of the prediction, and those that the reference has.
  const auto counts = [&](const char* pred, const char* reference) {
    const at::Tensor all = words.observe(Texts{pred}, Texts{reference}).counts;
    const auto* const row = all.const_data_ptr<std::int64_t>() + 3;
    return std::make_pair(row[0], row[2]);
  };
  EXPECT_EQ(counts("(hi)", "hi )"), std::make_pair(2L, 1L));
  EXPECT_EQ(counts("...", ". x"), std::make_pair(2L, 1L));
  EXPECT_EQ(counts("\"a", "\" a"), std::make_pair(2L, 2L));
  EXPECT_EQ(counts(".", "."), std::make_pair(1L, 1L));
}

TEST(TranslationTest, NotesSentencesLeftWhole) {
  const Texts preds = {"a b", "\u4ECA\u5929\u3002"};
  const auto count = [&](BleuTokenizer tokenizer) {
    const SacreBLEUScore metric(SacreBLEUScoreOptions().tokenize(tokenizer));
    const Note note = metric.observe(preds, preds).unsplit;
    EXPECT_EQ(note.rows(), 2);
    return note.count();
  };
  EXPECT_EQ(count(BleuTokenizer::k13a), 1);
  EXPECT_EQ(count(BleuTokenizer::kNone), 1);
  EXPECT_EQ(count(BleuTokenizer::kZh), 0);
  EXPECT_EQ(count(BleuTokenizer::kChar), 0);
  EXPECT_EQ(BLEUScore().observe(preds, preds).unsplit.first(), 1);
}

TEST(TranslationTest, RefusesBadInputs) {
  SacreBLEUScore bleu;
  bleu.update(Texts{"a"}, Texts{"a"});
  const std::string before = bleu.serialize();
  EXPECT_THAT(refusal_of([&] {
                bleu.update(Texts{"a", "b"}, Texts{"a"});
              }),
              HasSubstr("expected as many preds as target, got 2 and 1"));
  EXPECT_THAT(refusal_of([&] {
                bleu.update(Texts{"a", "b"}, TextRows{{"a"}, {}});
              }),
              HasSubstr("got none for sample 1"));
  EXPECT_THAT(refusal_of([&] {
                bleu.update(Texts{"a", "b"}, Texts{"a", "b\xFF"});
              }),
              AllOf(HasSubstr("expected target in UTF-8"), HasSubstr("byte 1"),
                    HasSubstr("sample 1"), HasSubstr("SacreBLEUScore")));
  EXPECT_EQ(bleu.serialize(), before);
  CHRFScore chrf;
  EXPECT_THAT(
      refusal_of([&] { chrf.update(Texts{"\xED\xA0\x80"}, Texts{""}); }),
      AllOf(HasSubstr("expected preds in UTF-8"), HasSubstr("CHRF")));
}

TEST(TranslationTest, NamesTheFirstBadSampleForAnyThreads) {
  Texts many(1000, "a b c");
  const Texts good = many;
  many[130] = many[131] = many[900] = "a\xFF";
  EXPECT_THAT(refusal_of([&] { SacreBLEUScore().update(many, good); }),
              HasSubstr("of sample 130"));
  EXPECT_THAT(refusal_of([&] { CHRFScore().update(good, many); }),
              HasSubstr("of sample 130"));
}

TEST(TranslationTest, RefusesBadOptions) {
  const auto sacre_refusal = [](const SacreBLEUScoreOptions& options) {
    return refusal_of([&] { SacreBLEUScore{options}; });
  };
  EXPECT_THAT(
      sacre_refusal(SacreBLEUScoreOptions().n_gram(0)),
      HasSubstr("SacreBLEUScore: expected n_gram of at least 1, got 0"));
  EXPECT_THAT(sacre_refusal(SacreBLEUScoreOptions().weights({1})),
              HasSubstr("each of 4 orders, got 1"));
  EXPECT_THAT(sacre_refusal(SacreBLEUScoreOptions().n_gram(1).weights({-1})),
              HasSubstr("expected weights of at least 0, got -1"));
  EXPECT_THAT(sacre_refusal(SacreBLEUScoreOptions().n_gram(1).weights({0})),
              HasSubstr("got all 0"));
  EXPECT_THAT(sacre_refusal(SacreBLEUScoreOptions().smooth_value(1)),
              HasSubstr("only with smooth_method floor or add-k, got it with "
                        "exp"));
  EXPECT_THAT(sacre_refusal(smoothed(BleuSmoothing::kFloor).smooth_value(0)),
              HasSubstr("expected smooth_value above 0, got 0"));
  const auto chrf_refusal = [](const CHRFScoreOptions& options) {
    return refusal_of([&] { CHRFScore{options}; });
  };
  EXPECT_THAT(chrf_refusal(CHRFScoreOptions().n_char_order(0)),
              HasSubstr("n_char_order of at least 1, got 0"));
  EXPECT_THAT(chrf_refusal(CHRFScoreOptions().n_word_order(-1)),
              HasSubstr("n_word_order of at least 0, got -1"));
  EXPECT_THAT(chrf_refusal(CHRFScoreOptions().beta(0)),
              HasSubstr("expected beta above 0, got 0"));
}

}  // namespace
}  // namespace tally

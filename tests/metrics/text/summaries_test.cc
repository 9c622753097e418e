#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tally/metrics/text/rouge_score.h"
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

double rouge(const ROUGEScoreOptions& options, const Texts& preds,
             const TextRows& target, const std::string& part) {
  const ROUGEScore metric(options);
  return metric.evaluate(metric.observe(preds, target))[part].item<double>();
}

TEST(ROUGEScoreTest, PassesTheHarness) {
  check_metric<ROUGEScore>("text/ROUGEScore");
}

TEST(ROUGEScoreTest, ValuesAreThoseOfRougeScore) {
  check_values<ROUGEScore>("text/ROUGEScore.values");
}

TEST(ROUGEScoreTest, TenThousandWords) {
  std::string pred, reference;
  for (int i = 0; i < 10000; ++i) {
    const int word = i * i % 9973 % 50;
    const std::string space = i == 0 ? "" : " ";
    const bool ends = i % 500 == 499;
    reference += space + (ends ? "\n" : "w" + std::to_string(word));
    pred += space + (ends ? "\n" : "w" + std::to_string(word + i / 7 % 2));
  }
  std::ifstream file("tests/reference/data/text/long_summary.json");
  const auto expected = nlohmann::json::parse(file);
  for (const char* key : {"rouge2", "rougeLsum"}) {
    EXPECT_NEAR(
        rouge({}, {pred}, {{reference}}, key + std::string("_fmeasure")),
        expected.at(key), 1e-12);
  }
}

TEST(ROUGEScoreTest, TiesOfCommonSubsequencesCount) {
  EXPECT_NEAR(rouge({}, {"a c\nb c"}, {{"c a b"}}, "rougeLsum_fmeasure"),
              2.0 / 7, 1e-15);
}

TEST(ROUGEScoreTest, SummaryLinesEndAtNewlines) {
  const Texts preds = {"a b\nc d"};
  const TextRows target = {{"c d\na b"}};
  EXPECT_EQ(rouge({}, preds, target, "rougeL_fmeasure"), 0.5);
  EXPECT_EQ(rouge({}, preds, target, "rougeLsum_fmeasure"), 1);
  EXPECT_EQ(rouge({}, {"a b\r\nc d\r\n"}, target, "rougeLsum_fmeasure"), 1);
  // Points end no line: a subsequence of the whole has the end or the start.
  EXPECT_EQ(rouge({}, {"a b. c d."}, {{"c d. a b."}}, "rougeLsum_fmeasure"),
            0.5);
}

TEST(ROUGEScoreTest, StemsWordsOfMoreThanThreeLetters) {
  const auto stemmed = ROUGEScoreOptions().use_stemmer(true);
  const auto f = [](const ROUGEScoreOptions& options, const char* a,
                    const char* b) {
    return rouge(options, {a}, {{b}}, "rouge1_fmeasure");
  };
  EXPECT_EQ(f(stemmed, "skies running", "sky run"), 1);
  EXPECT_EQ(f({}, "skies running", "sky run"), 0);
  EXPECT_EQ(f(stemmed, "was", "wa"), 0);
}

TEST(ROUGEScoreTest, TokensAreLettersAndDigitsOfASCII) {
  const auto f = [](const char* a, const char* b) {
    return rouge({}, {a}, {{b}}, "rouge1_fmeasure");
  };
  EXPECT_EQ(f("Caf\u00E9", "caf"), 1);
  EXPECT_EQ(f("\u4F60\u597D", "\u4F60\u597D"), 0);
  EXPECT_EQ(f("\u212Aelvin \u0130stanbul", "kelvin i stanbul"), 1);
}

TEST(ROUGEScoreTest, SplitsByAFunction) {
  const auto by_comma = [](std::string_view line) {
    Texts tokens{""};
    for (const char c : line) {
      if (c == ',') {
        tokens.emplace_back();
      } else {
        tokens.back() += c;
      }
    }
    return tokens;
  };
  ROUGEScoreOptions options;
  options.tokenizer("by comma", by_comma);
  // Case and blanks count; tokens without letters are none.
  EXPECT_EQ(rouge(options, {"a b,C,,d"}, {{"a b,c\nd"}}, "rouge1_fmeasure"),
            2.0 / 3);
  EXPECT_EQ(rouge(options, {"a b"}, {{"a"}}, "rouge1_fmeasure"), 0);

  const ROUGEScore own(options),
      other(ROUGEScoreOptions().tokenizer("by comma", by_comma)), plain;
  EXPECT_EQ(own.state_key(), other.state_key());
  EXPECT_NE(own.state_key(), plain.state_key());
  EXPECT_THAT(refusal_of([&] {
                ROUGEScore{ROUGEScoreOptions().tokenizer("", by_comma)};
              }),
              HasSubstr("ROUGEScore: expected a label that identifies the "
                        "tokenizer's function"));
}

TEST(ROUGEScoreTest, NotesTextsThatItsTokenizerWasNotMadeFor) {
  const Texts hindi = {"a", "\u091B\u0964", "..."};
  const Texts chinese = {"\u4ECA\u5929\uFF0C\u516C\u56ED"};
  const auto notes = [](RougeTokenizer tokenizer, const Texts& texts) {
    const ROUGEScore metric(ROUGEScoreOptions().tokenizer(tokenizer));
    const auto state = metric.observe(texts, texts);
    EXPECT_EQ(state.no_tokens.rows(), static_cast<int>(texts.size()));
    return std::make_pair(state.no_tokens.count(), state.unsplit.count());
  };
  using Counts = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(notes(RougeTokenizer::kRougeScore, hindi), Counts(1, 0));
  EXPECT_EQ(notes(RougeTokenizer::kUnicode, hindi), Counts(0, 0));
  EXPECT_EQ(notes(RougeTokenizer::kRougeScore, chinese), Counts(1, 0));
  EXPECT_EQ(notes(RougeTokenizer::kWhitespace, chinese), Counts(0, 1));
  EXPECT_EQ(notes(RougeTokenizer::kCharacters, chinese), Counts(0, 0));
}

TEST(ROUGEScoreTest, TakesTheBestReferenceForEachKey) {
  // The first has more words of the text, the second more pairs of them.
  const Texts preds = {"a b c d"};
  const TextRows target = {{"d c b a", "a b x y"}};
  EXPECT_EQ(rouge({}, preds, target, "rouge1_fmeasure"), 1);
  EXPECT_NEAR(rouge({}, preds, target, "rouge2_fmeasure"), 1.0 / 3, 1e-15);
  const auto mean = ROUGEScoreOptions().accumulate(RougeAccumulate::kAvg);
  EXPECT_EQ(rouge(mean, preds, target, "rouge1_fmeasure"), 0.75);
}

TEST(ROUGEScoreTest, TakesTheFirstReferenceOfEqualOnes) {
  // F is 0.5 of both; precision and recall are not.
  EXPECT_NEAR(rouge({}, {"a b c"}, {{"a", "a b x y z"}}, "rouge1_precision"),
              1.0 / 3, 1e-15);
}

TEST(ROUGEScoreTest, HasNoValueBeforeAnyUpdate) {
  const Results results = ROUGEScore().compute();
  ASSERT_EQ(results.size(), 12);
  for (const auto& [name, value] : results) {
    EXPECT_TRUE(std::isnan(value.item<double>())) << name;
  }
}

TEST(ROUGEScoreTest, RefusesBadInputsAndOptions) {
  const auto refusal = [](const std::vector<std::string>& keys) {
    return refusal_of(
        [&] { ROUGEScore{ROUGEScoreOptions().rouge_keys(keys)}; });
  };
  EXPECT_THAT(refusal({}), HasSubstr("ROUGEScore: expected rouge_keys, got"));
  for (const char* key : {"rouge0", "rouge10", "rougel", "rouge", "bleu"}) {
    EXPECT_THAT(refusal({key}), HasSubstr("got '" + std::string(key) + "'"));
  }
  EXPECT_THAT(refusal({"rouge1", "rougeL", "rouge1"}),
              HasSubstr("each of rouge_keys once, got rouge1 twice"));
  ROUGEScore metric;
  EXPECT_THAT(refusal_of([&] {
                metric.update(Texts{"a"}, TextRows{{"a", "\xC0"}});
              }),
              AllOf(HasSubstr("target in UTF-8"), HasSubstr("sample 0")));
  EXPECT_THAT(refusal_of([&] { metric.update(Texts{"a"}, TextRows{{}}); }),
              HasSubstr("got none for sample 0"));
  EXPECT_EQ(metric.update_count(), 0);
}

}  // namespace
}  // namespace tally

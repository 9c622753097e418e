#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tally/tests/cli/files.h"
#include "tally/tests/examples/program.h"

namespace tally::cli {
namespace {

using tally::testkit::Program;
using tally::testkit::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

class TallyWarningsTest : public ::testing::Test {
 protected:
  static Program::Result tally(const Words& more) {
    Words words = {"cli/tally"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }
  static Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Folder folder_;
  // The rows of the third and fourth line add up to 0.98, the fifth is skipped.
  const std::string csv_ =
      folder_.write("x.csv",
                    "a,b,label,site\n0.5,0.5,0,n\n0.5,0.48,1,s\n"
                    "0.49,0.49,1,n\n0.5,,1,n\n0.25,0.75,1,s\n");
  const Words loss_ = {
      "evaluate",  "-m",        "MulticlassLogLoss(num_classes=2)",
      "--csv",     csv_,        "--columns",
      "a:b,label", "--missing", "skip"};
};

TEST_F(TallyWarningsTest, NameFileAndLineOnAnyNumberOfRanks) {
  for (const char* ranks : {"1", "2", "3"}) {
    const auto result =
        tally(with(loss_, {"--ranks", ranks, "--batch-size", "1"}));
    ASSERT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.errors,
                HasSubstr("tally: warning: MulticlassLogLoss: probabilities do "
                          "not add up to 1 in 2 of 4 rows, first " +
                          csv_ + ", line 3; set input to logits"));
    EXPECT_EQ(result.errors.find("MulticlassLogLoss"),
              result.errors.rfind("MulticlassLogLoss"));
  }
}

TEST_F(TallyWarningsTest, AreGivenOnceBesideSlicesIntervalsAndReports) {
  auto words = with(loss_, {"--by", "site", "--interval", "0.9"});
  auto result = tally(words);
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("in 2 of 4 rows"));
  EXPECT_EQ(result.errors.find("add up"), result.errors.rfind("add up"));
  words[0] = "report";
  result = tally(with(words, {"--output", folder_.path("page.html")}));
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("in 2 of 4 rows"));
}

TEST_F(TallyWarningsTest, AreErrorsIfAskedAndSilentIfAsked) {
  for (const char* ranks : {"1", "3"}) {
    const auto strict = tally(with(loss_, {"--strict", "--ranks", ranks}));
    EXPECT_EQ(strict.status, 2);
    EXPECT_EQ(strict.output, "");
    EXPECT_THAT(strict.errors, AllOf(HasSubstr("--strict: MulticlassLogLoss: "),
                                     HasSubstr(csv_ + ", line 3")));
  }
  const auto quiet = tally(with(loss_, {"--quiet"}));
  EXPECT_EQ(quiet.status, 0);
  EXPECT_EQ(quiet.errors, "");
  const auto both = tally(with(loss_, {"--quiet", "--strict"}));
  EXPECT_THAT(both.errors, HasSubstr("one of --strict and --quiet"));
  const auto value = tally(with(loss_, {"--strict=yes"}));
  EXPECT_THAT(value.errors,
              HasSubstr("--strict: expected no value, got 'yes'"));
}

TEST_F(TallyWarningsTest, NameLinesOfTextsAndOfJson) {
  const std::string texts = folder_.write("a.txt", "a\n\u4ECA\u5929\n");
  auto result = tally({"evaluate", "-m", "ROUGEScore(rouge_keys=[rouge1])",
                       "-i", texts, texts});
  EXPECT_THAT(result.errors,
              HasSubstr("ROUGEScore: a text with letters has no tokens in 1 of "
                        "2 rows, first " +
                        texts + ", line 2; "));
  const std::string json = folder_.write(
      "a.jsonl",
      "{\"preds\": \"a\", \"target\": \"b\"}\n"
      "{\"preds\": \"\u4ECA\u5929\", \"target\": \"\u4ECA\u5929\"}\n");
  result = tally({"evaluate", "-m", "b=SacreBLEUScore", "-i", json});
  EXPECT_THAT(result.errors, HasSubstr("b: a text in a script without spaces "
                                       "is a single token in 1 of 2 rows, "
                                       "first " +
                                       json + ", line 2; "));
  result = tally({"evaluate", "-m",
                  "SacreBLEUScore(tokenize=zh); WordErrorRate; "
                  "TranslationEditRate(asian_support=true)",
                  "-i", texts, texts});
  EXPECT_THAT(result.errors,
              AllOf(Not(HasSubstr("SacreBLEUScore: ")),
                    HasSubstr("WordErrorRate: a text in a script"),
                    HasSubstr("TranslationEditRate: a text in a script"),
                    HasSubstr("TranslationEditRate: asian_support has no "
                              "effect without normalize")));
}

TEST_F(TallyWarningsTest, AreDescribed) {
  const auto text = tally({"describe", "ROUGEScore"});
  EXPECT_THAT(text.output, HasSubstr("\nwarnings\n  a text with letters has no "
                                     "tokens\n      the default tokenizer"));
  const auto json = Json::parse(
      tally({"describe", "MulticlassBrierScore", "--format", "json"}).output);
  ASSERT_EQ(json.at("warnings").size(), 1);
  EXPECT_EQ(json.at("warnings")[0].at("name"), "unnormalized");
}

}  // namespace
}  // namespace tally::cli

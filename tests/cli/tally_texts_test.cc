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
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

// By jiwer 4.0.0 and sacrebleu 2.6.0.
constexpr double kWordErrorRate = 4 / 9.0;
constexpr double kTranslationEditRate = 2 / 9.0;
constexpr double kBleu = 0.6133486109795172;

class TallyTextsTest : public ::testing::Test {
 protected:
  Program::Result evaluate(const Words& more) const {
    Words words = {"cli/tally", "evaluate", "--format", "json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }

  Folder folder_;
  const std::string hyp_ = folder_.write(
      "hyp.txt", "the cat sat\r\non the mat today \u2028\n\ncaf\u00E9\n");
  const std::string ref_ = folder_.write(
      "ref.txt", "the cat sat down\ntoday on the mat\n\nCaf\u00E9");
};

TEST_F(TallyTextsTest, RanksGiveTheValuesOfOneProcess) {
  const Words words = {"--metrics",
                       "WordErrorRate; SacreBLEUScore(tokenize=13a); "
                       "TranslationEditRate",
                       "--inputs", hyp_, ref_};
  const Program::Result alone = evaluate(words);
  ASSERT_EQ(alone.status, 0) << alone.errors;
  EXPECT_EQ(alone.errors, "");
  const Json one = Json::parse(alone.output);
  EXPECT_EQ(one.at("rows"), 4);
  EXPECT_DOUBLE_EQ(one.at("metrics").at("WordErrorRate"), kWordErrorRate);
  EXPECT_DOUBLE_EQ(one.at("metrics").at("TranslationEditRate"),
                   kTranslationEditRate);
  EXPECT_NEAR(one.at("metrics").at("SacreBLEUScore"), kBleu, 1e-12);
  Words split = words;
  split.insert(split.end(), {"--ranks", "3", "--batch-size", "1"});
  const Program::Result ranks = evaluate(split);
  ASSERT_EQ(ranks.status, 0) << ranks.errors;
  const Json three = Json::parse(ranks.output);
  EXPECT_EQ(three.at("ranks"), 3);
  EXPECT_EQ(three.at("metrics"), one.at("metrics"));
}

TEST_F(TallyTextsTest, ReadsStreamsAndJsonLines) {
  const Program::Result stream = run_program(
      {"/bin/sh", "-c",
       "cli/tally evaluate --metrics WordErrorRate --format json --ranks 2 "
       "--inputs - " +
           ref_ + " < " + hyp_});
  ASSERT_EQ(stream.status, 0) << stream.errors;
  EXPECT_DOUBLE_EQ(Json::parse(stream.output).at("metrics").at("WordErrorRate"),
                   kWordErrorRate);
  const std::string lines = folder_.write(
      "x.jsonl",
      "{\"h\": \"a b\", \"r\": \"a\"}\n{\"h\": \"\", \"r\": \"c\"}\n");
  const Program::Result json =
      evaluate({"--metrics", "WordErrorRate", "--inputs", lines, "--columns",
                "preds=h,target=r"});
  ASSERT_EQ(json.status, 0) << json.errors;
  EXPECT_EQ(Json::parse(json.output).at("metrics").at("WordErrorRate"), 1);
}

TEST_F(TallyTextsTest, SaysWhatIsWrong) {
  const std::string bad = folder_.write("bad.txt", "a\nb\n\xFF\nd\n");
  const Program::Result result = evaluate(
      {"--metrics", "WordErrorRate", "--ranks", "3", "--inputs", bad, ref_});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("bad.txt: line 3: expected UTF-8, got "
                                       "byte 0xFF at byte 0; another encoding "
                                       "is read with --encoding latin-1 or "));
  const Program::Result columns = evaluate(
      {"--metrics", "WordErrorRate", "--inputs", hyp_, ref_, "--columns", "a"});
  EXPECT_THAT(columns.errors, HasSubstr("--columns: requires --csv or "
                                        "--jsonl, or a .jsonl or .npz file as "
                                        "--inputs"));
}

}  // namespace
}  // namespace tally::cli

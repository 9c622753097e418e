#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"
#include "tally/tests/examples/program.h"

// Evaluations of several named data sets.

namespace tally::cli {
namespace {

using tally::testkit::run_program;
using ::testing::HasSubstr;

class TallySetsTest : public ::testing::Test {
 protected:
  /// Of what has no named sets before it.
  Words with(Words words) const {
    words.insert(words.begin(), {"-m", "a=BinaryAccuracy"});
    return evaluate(words);
  }
  Json metrics_of(Words words) const {
    words.insert(words.end(), {"--format", "json"});
    const auto result = run_program(with(words));
    EXPECT_EQ(result.status, 0) << result.errors;
    const Json json = Json::parse(result.output);
    EXPECT_EQ(json["rows"], 5);
    return json["metrics"];
  }
  std::string refusal(Words words) const {
    const auto result = run_program(with(words));
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.output, "");
    return result.errors;
  }

  const Folder folder_;
  // 2 of 4 and 1 of 1.
  const std::string clean_ =
      folder_.write("clean.csv", "preds,target\n1,1\n0,1\n0,0\n1,0\n");
  const std::string noisy_ = folder_.write("noisy.csv", "target,preds\n0,0\n");
};

TEST_F(TallySetsTest, EvaluatesEachSetAndTheirMeans) {
  const Json wanted = {{"clean/a", 0.5},
                       {"noisy/a", 1.0},
                       {"mean/a", 0.75},
                       {"weighted_mean/a", 0.6}};
  for (const char* ranks : {"1", "2", "3"}) {
    EXPECT_EQ(metrics_of({"--set", "clean=" + clean_, "--set",
                          "noisy=" + noisy_, "--ranks", ranks}),
              wanted)
        << ranks;
  }
  const std::string lines = folder_.write(
      "clean.jsonl",
      "{\"preds\": 1, \"target\": 1}\n{\"preds\": 0, \"target\": 1}\n"
      "{\"preds\": 0, \"target\": 0}\n{\"preds\": 1, \"target\": 0}\n");
  const std::string preds =
      folder_.write("preds.npy", npy<std::int64_t>("<i8", {0}));
  EXPECT_EQ(metrics_of({"--set=clean=" + lines, "--set", "noisy=preds=" + preds,
                        "target=" + preds}),
            wanted);
  const auto table = run_program(
      with({"--set", "clean=" + clean_, "--set", "noisy=" + noisy_}));
  EXPECT_EQ(table.output,
            "clean/a          0.5\n"
            "noisy/a          1\n"
            "mean/a           0.75\n"
            "weighted_mean/a  0.6\n");
}

TEST_F(TallySetsTest, SaysWhichSetIsWrong) {
  const std::string bad = folder_.write("bad.csv", "preds,target\n1,7\n");
  EXPECT_THAT(refusal({"--set", "clean=" + clean_, "--set", "bad=" + bad}),
              HasSubstr("--set: bad: " + bad));
  EXPECT_THAT(refusal({"--set", clean_}),
              HasSubstr("--set: expected NAME=FILE ..., got '" + clean_));
  EXPECT_THAT(refusal({"--set", "a=" + clean_, "--set", "a=" + noisy_}),
              HasSubstr("--set: expected each set once, got 'a' twice"));
  EXPECT_THAT(
      refusal({"--set", "mean=" + clean_}),
      HasSubstr("expected other names of sets than those of the means"));
  EXPECT_THAT(refusal({"--set", "a=" + clean_, "x.npy"}),
              HasSubstr("--set: a: expected files of one kind, got " + clean_ +
                        " and x.npy"));
  EXPECT_THAT(refusal({"--set", "a=-"}),
              HasSubstr("--set: a: expected files, got the standard input"));
  EXPECT_THAT(refusal({"--set", "a=" + clean_, "--csv", noisy_}),
              HasSubstr("--coco and --set, got several"));
  EXPECT_THAT(refusal({"--set", "a=" + clean_, "gt.json"}),
              HasSubstr("--set: a: expected files of one kind, got " + clean_ +
                        " and "));
  EXPECT_THAT(refusal({"--set", "a=gt.json"}),
              HasSubstr("--set: a: expected annotations and, behind them, one "
                        "or more files of results, got "));
  EXPECT_THAT(refusal({"--set", "a=" + clean_, "--by", "preds"}),
              HasSubstr("--by: expected one data set, got --set; evaluate each "
                        "set alone, with --csv, --inputs or --coco, or all "
                        "rows as one file, whose first column of --by names "
                        "their set"));
  for (const char* option : {"--save", "--ids", "--groups", "--replicates",
                             "--part", "--split", "--folders", "--slices"}) {
    EXPECT_THAT(refusal({"--set", "a=" + clean_, option,
                         std::string(option) == "--part" ? "0/2" : "1"}),
                HasSubstr(std::string(option) +
                          ": expected one data set, got --set; evaluate each "
                          "set alone, with --csv, --inputs or --coco"));
  }
  EXPECT_THAT(refusal({"--set", "a=" + folder_.write("x.parquet", "PAR1")}),
              HasSubstr("a Parquet file"));
  EXPECT_THAT(refusal({"--set", "a=" + clean_, "--set", "b=x.parquet",
                       "--columns", "preds=p,target=target"}),
              HasSubstr(", got x.parquet for the set 'b'"));
  EXPECT_THAT(refusal({"--set", "a=" + clean_, "-o", clean_}),
              HasSubstr("expected another file to write to, got an input"));
}

TEST_F(TallySetsTest, IntervalsAreThoseOfEachSet) {
  const Words interval = {"--interval", "0.9", "--format", "json"};
  const auto json_of = [&](Words words) {
    words.insert(words.end(), interval.begin(), interval.end());
    const auto result = run_program(with(words));
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output);
  };
  for (const char* ranks : {"1", "2"}) {
    const Json both = json_of({"--set", "clean=" + clean_, "--set",
                               "noisy=" + noisy_, "--ranks", ranks});
    EXPECT_EQ(both["metrics"].size(), 4u);
    EXPECT_EQ(both["intervals"].size(), 2u);
    EXPECT_EQ(both["intervals"]["clean/a"],
              json_of({"--csv", clean_})["intervals"]["a"]);
    EXPECT_EQ(both["intervals"]["noisy/a"],
              json_of({"--csv", noisy_})["intervals"]["a"]);
  }
  const auto table =
      run_program(with({"--set", "clean=" + clean_, "--set", "noisy=" + noisy_,
                        "--interval", "0.9", "--quiet"}));
  EXPECT_THAT(table.output, HasSubstr("\nclean/a    0.5    0.1824  0.8176\n"));
}

TEST_F(TallySetsTest, CocoFilesAreASet) {
  const std::string annotations = folder_.write("gt.json", R"({
    "images": [{"id": 1}, {"id": 2}],
    "annotations": [
      {"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 10, 10],
       "area": 100},
      {"id": 2, "image_id": 2, "category_id": 3, "bbox": [0, 0, 10, 10],
       "area": 100}],
    "categories": [{"id": 3, "name": "cat"}]})");
  const auto found = [&](const char* name, const char* width) {
    return folder_.write(
        name, std::string(R"([{"image_id": 1, "category_id": 3, "score": 0.9,
                 "bbox": [0, 0, )") +
                  width + ", 10]}]");
  };
  const std::string day = found("day.json", "10");
  const std::string night = found("night.json", "4");
  const auto evaluated = [&](Words more) {
    Words words = {
        "--set", "day=" + annotations, day,   "--set=night=" + annotations,
        night,   "--format",           "json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = run_program(evaluate(words));
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output)["metrics"];
  };
  const Json metrics =
      evaluated({"-m", "r=DetectionRecall; p=DetectionPrecision"});
  EXPECT_EQ(metrics["day/r"], 0.5);
  EXPECT_EQ(metrics["night/r"], 0);
  EXPECT_EQ(metrics["mean/p"], 0.5);
  // Without metrics those of --coco.
  EXPECT_EQ(evaluated({})["night/MeanAveragePrecision.map"], 0);
}

TEST_F(TallySetsTest, RemarksNameTheirSet) {
  const std::string gaps =
      folder_.write("gaps.csv", "preds,target\n1,1\n,1\n0,0\n1,0\n0,1\n");
  const auto result = run_program(with({"--set", "full=" + noisy_, "--set",
                                        "gaps=" + gaps, "--missing", "skip"}));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors,
              HasSubstr("tally: gaps: rows skipped because of a missing field: "
                        "1\n"));
  EXPECT_THAT(result.errors, ::testing::Not(HasSubstr("full: rows")));
}

}  // namespace
}  // namespace tally::cli

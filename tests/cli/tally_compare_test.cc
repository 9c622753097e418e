#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"
#include "tally/tests/examples/program.h"

// Two evaluations that write replicates, and their comparison.

namespace tally::cli {
namespace {

using tally::testkit::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kMetrics =
    "accuracy=BinaryAccuracy; ap=BinaryAveragePrecision; "
    "loss=MeanSquaredError";

class TallyCompareTest : public ::testing::Test {
 protected:
  TallyCompareTest() {
    std::string rows = "id,target,a,b\n";
    for (int i = 0; i < 60; ++i) {
      rows += "r" + std::to_string(i * 17 % 60) + "," +
              std::to_string(i * 7 % 10 < 4 ? 1 : 0) + "," +
              std::to_string(i * 37 % 41 / 41.) + "," +
              std::to_string((i * 37 % 41 + i % 5) / 45.) + "\n";
    }
    csv_ = folder_.write("rows.csv", rows);
  }

  Words evaluation(const std::string& model, const std::string& file,
                   const Words& more = {}, const char* metrics = kMetrics) {
    Words words = {"-m",           metrics,
                   "--csv",        csv_,
                   "--columns",    "preds=" + model + ",target=target",
                   "--replicates", file,
                   "--format",     "json"};
    words.insert(words.end(), more.begin(), more.end());
    return evaluate(words);
  }
  /// The path of the replicates of a model.
  std::string replicates(const std::string& model, const Words& more = {}) {
    const std::string file =
        folder_.path(model + std::to_string(folder_.size()));
    const auto result = run_program(evaluation(model, file, more));
    EXPECT_EQ(result.status, 0) << result.errors;
    return file;
  }
  static testkit::Program::Result compare(Words words) {
    words.insert(words.begin(), {"cli/tally", "compare"});
    return run_program(words);
  }
  static Json comparisons(const std::string& first, const std::string& second) {
    const auto result = compare({first, second, "--format=json"});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.errors, IsEmpty());
    return Json::parse(result.output)["comparisons"];
  }

  Folder folder_;
  std::string csv_;
};

TEST_F(TallyCompareTest, IsTheSameOnAnyNumberOfRanks) {
  Json one;
  for (const char* ranks : {"1", "2", "3"}) {
    const Words words = {"--ids", "id", "--ranks", ranks, "--batch-size", "7"};
    const Json json =
        comparisons(replicates("a", words), replicates("b", words));
    if (one.is_null()) one = json;
    ASSERT_EQ(json.size(), 3);
    for (const auto& [name, each] : json.items()) {
      SCOPED_TRACE(name + " on " + ranks);
      EXPECT_EQ(each["n"], 60);
      EXPECT_EQ(each["level"], 0.95);
      for (const char* part :
           {"first", "second", "difference", "low", "high", "p_value"}) {
        expect_near(each[part], one[name][part], 1e-12);
      }
      EXPECT_LE(each["low"], each["difference"]);
      EXPECT_LE(each["difference"], each["high"]);
      EXPECT_NEAR(each["first"].get<double>() - each["second"].get<double>(),
                  each["difference"], 1e-15);
    }
  }
  EXPECT_EQ(one["accuracy"]["method"], "mcnemar");
  EXPECT_EQ(one["accuracy"]["counted"], 60);
  EXPECT_EQ(one["loss"]["method"], "jackknife");
  EXPECT_EQ(one["ap"]["method"], "jackknife");
  EXPECT_EQ(one["ap"]["replicates"], 60);
  EXPECT_EQ(one["ap"]["units"], 60);
  EXPECT_EQ(one["ap"]["unit"], "row");
}

TEST_F(TallyCompareTest, EvaluatesAsWithoutReplicates) {
  const std::string file = folder_.path("a.json");
  const auto with = run_program(evaluation("a", file));
  EXPECT_EQ(with.status, 0) << with.errors;
  const auto without =
      run_program(evaluate({"-m", kMetrics, "--csv", csv_, "--columns",
                            "preds=a,target=target", "--format", "json"}));
  EXPECT_EQ(with.output, without.output);
  const Json json = comparisons(file, file);
  const Json values = Json::parse(with.output)["metrics"];
  for (const auto& [name, value] : values.items()) {
    EXPECT_DOUBLE_EQ(json[name]["first"].get<double>(), value.get<double>());
    EXPECT_EQ(json[name]["p_value"], 1);
  }
  // Intervals are then those of the same units, whose proportion is Wilson's.
  const auto intervals =
      run_program(evaluation("a", file, {"--interval", "0.9"}));
  const Json methods = Json::parse(intervals.output)["intervals"];
  EXPECT_EQ(methods["accuracy"]["method"], "wilson");
  EXPECT_EQ(methods["ap"]["method"], "jackknife");
}

TEST_F(TallyCompareTest, NamesMetricsOfOneRun) {
  const std::string a = replicates("a");
  const std::string file = folder_.path("b");
  ASSERT_EQ(
      run_program(evaluation("b", file, {}, "loss=MeanSquaredError")).status,
      0);
  const auto result = compare({a, file, "--level", "0.8"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.errors, "tally: only in " + a + ": accuracy, ap\n");
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("80% intervals of first - second: jackknife\n"),
                    HasSubstr("\nloss  ")));
  const auto piped = run_program(
      {"/bin/sh", "-c",
       "cat " + file + " | cli/tally compare - " + file + " --format csv"});
  EXPECT_EQ(piped.errors, "");
  EXPECT_THAT(piped.output, HasSubstr("\nloss,,"));
}

TEST_F(TallyCompareTest, SaysWhatCannotBeCompared) {
  const std::string a = replicates("a");
  expect_refusal(compare({a, replicates("b", {"--ids", "id"})}),
                 "accuracy: compare: expected the same ids of rows");
  expect_refusal(compare({a, csv_}), csv_ + ": replicates: ");
  expect_refusal(compare({a, folder_.path("none")}), "none: cannot be opened");
  expect_refusal(compare({a, a, "-o", folder_.path("none/out")}),
                 "none/out: cannot be written: No such file or directory");
}

TEST_F(TallyCompareTest, SaysWhatHasNoReplicatesAndWritesNothing) {
  const std::string file = folder_.path("a.json");
  const std::size_t files = folder_.size();
  expect_refusal(run_program(evaluation("a", file, {}, "worst=MaxError")),
                 "--replicates: worst: MaxError has no interval");
  expect_refusal(
      run_program(evaluation("a", file, {"--interval-method", "poisson"},
                             "binned=BinaryAUROC(thresholds=5)")),
      "--replicates: binned: expected a metric that method poisson "
      "fits, got BinaryAUROC(");
  expect_refusal(
      run_program(evaluation("a", folder_.path("none/a.json"), {"--ranks=2"})),
      "none/a.json: cannot be written: No such file or directory");
  csv_ = folder_.write("rows.csv", "id,target,a,b\n");
  for (const char* ranks : {"1", "2"}) {
    expect_refusal(
        run_program(evaluation("a", file, {"--ids", "id", "--ranks", ranks})),
        "got 0 rows and jackknife");
  }
  EXPECT_EQ(folder_.size(), files);
}

TEST(CompareModelsTest, PrintsWhatItSays) {
  const std::string script = "examples/compare_models.sh";
  const auto result = run_program(
      {"/bin/sh", "-c", "TALLY=$PWD/cli/tally exec /bin/sh " + script});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.output, testkit::promised_by(script, "#"));
}

}  // namespace
}  // namespace tally::cli

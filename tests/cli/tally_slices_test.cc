#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"
#include "tally/tests/examples/program.h"

// Evaluations beyond one value for all rows: slices and intervals.

namespace tally::cli {
namespace {

using tally::testkit::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TallySlicesTest, EvaluatesSlices) {
  const Folder folder;
  const std::string csv = folder.write("x.csv",
                                       "preds,site,target,year\n"
                                       "1,north,1,7\n0,south,1,7\n1,,1,8\n"
                                       "0,north,1,8\n0,north,0,7\n1,east,0,\n");
  const auto sliced = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"-m", "BinaryAccuracy; rows=SumMetric()", "--csv", csv,
                 "--columns", "preds=preds,target=target,value=target"});
    more.insert(more.end(), {"--format", "json"});
    const auto result = run_program(evaluate(more));
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output);
  };
  Json one;
  for (const char* ranks : {"1", "2", "3", "5"}) {
    Json json = sliced({"--by", "site", "--ranks", ranks});
    json.erase("ranks");
    if (one.is_null()) one = json;
    EXPECT_EQ(json, one) << ranks;
  }
  EXPECT_EQ(one["slices"].dump(),
            "[{\"key\":{\"site\":null},\"metrics\":{\"BinaryAccuracy\":1.0,"
            "\"rows\":1.0},\"rows\":1},"
            "{\"key\":{\"site\":\"east\"},\"metrics\":{\"BinaryAccuracy\":0.0,"
            "\"rows\":0.0},\"rows\":1},"
            "{\"key\":{\"site\":\"north\"},\"metrics\":{\"BinaryAccuracy\":"
            "0.6666666666666666,\"rows\":2.0},\"rows\":3},"
            "{\"key\":{\"site\":\"south\"},\"metrics\":{\"BinaryAccuracy\":0.0,"
            "\"rows\":1.0},\"rows\":1}]");
  const Json crossed =
      sliced({"--by", "site,year", "--slices", "2", "--batch-size", "1"});
  ASSERT_EQ(crossed["slices"].size(), 3);
  EXPECT_EQ(crossed["slices"][0]["key"],
            Json({{"site", nullptr}, {"year", "8"}}));
  EXPECT_EQ(crossed["slices"][1]["key"],
            Json({{"site", "north"}, {"year", "7"}}));
  EXPECT_EQ(crossed["slices"][2]["rows"], 3);
  EXPECT_TRUE(crossed["slices"][2]["key"].is_null());
}

TEST(TallyIntervalsTest, EvaluatesIntervals) {
  const Folder folder;
  std::string rows = "preds,target,user,name\n";
  for (int i = 0; i < 40; ++i) {
    rows += std::to_string(i * 37 % 40 / 40.0) + "," +
            std::to_string(i * 37 % 40 >= 15 && i % 7 > 0 ? 1 : 0) + "," +
            std::to_string(i % 9) + ",n" + std::to_string(i) + "\n";
  }
  const std::string csv = folder.write("x.csv", rows);
  const auto intervals = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"-m",
                 "accuracy=BinaryAccuracy; auroc=BinaryAUROC; "
                 "ap=BinaryAveragePrecision; loss=MeanSquaredError",
                 "--csv", csv, "--columns", "preds=preds,target=target",
                 "--interval", "0.9", "--format", "json"});
    const auto result = run_program(evaluate(more));
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output)["intervals"];
  };
  Json one;
  for (const char* ranks : {"1", "3"}) {
    const Json json = intervals({"--ranks", ranks, "--batch-size", "6"});
    if (one.is_null()) one = json;
    for (const auto& [name, interval] : json.items()) {
      EXPECT_EQ(interval["level"], 0.9);
      EXPECT_EQ(interval["n"], 40);
      for (const char* part : {"value", "low", "high", "standard_error"}) {
        expect_near(interval[part], one[name][part], 1e-12);
      }
      EXPECT_LT(interval["low"], interval["value"]);
      EXPECT_LT(interval["value"], interval["high"]);
    }
  }
  EXPECT_EQ(one["accuracy"]["method"], "wilson");
  EXPECT_EQ(one["auroc"]["method"], "delong_newcombe");
  EXPECT_EQ(one["ap"]["method"], "delete_one");
  EXPECT_EQ(one["loss"]["method"], "jackknife");
  EXPECT_EQ(one["loss"]["units"], 40);
  EXPECT_TRUE(one["loss"]["flags"].is_array());
  const Json named = intervals({"--ids", "name"});
  // So few rows are left out one at a time, whatever their ids.
  EXPECT_EQ(named["loss"]["low"], one["loss"]["low"]);
  EXPECT_EQ(named["accuracy"], one["accuracy"]);
  EXPECT_EQ(
      intervals({"--groups", "user", "--ranks", "2"})["accuracy"]["method"],
      "jackknife");
  const auto table =
      run_program(evaluate({"-m", "BinaryAccuracy", "--csv", csv, "--columns",
                            "preds,target", "--interval", "0.95"}));
  EXPECT_THAT(table.output, HasSubstr("95% intervals of 40 rows: wilson\n"));
  const auto lines = run_program(
      evaluate({"-m", "BinaryAccuracy", "--csv", csv, "--columns",
                "preds,target", "--interval", "0.95", "--format", "csv"}));
  EXPECT_THAT(lines.output, HasSubstr("BinaryAccuracy.low,,0."));
}

TEST(TallyIntervalsTest, IdsAreTheSameInAllKindsOfFiles) {
  const Folder folder;
  std::vector<double> preds, target;
  std::vector<std::int64_t> ids;
  std::string csv = "preds,target,id\n", lines, texts;
  for (int i = 0; i < 30; ++i) {
    preds.push_back(i * 11 % 30);
    target.push_back(i * 7 % 30);
    ids.push_back(i * 19 % 30 - 9);
    const std::string row[] = {std::to_string(i * 11 % 30),
                               std::to_string(i * 7 % 30),
                               std::to_string(ids.back())};
    csv += row[0] + "," + row[1] + "," + row[2] + "\n";
    lines += "{\"preds\": " + row[0] + ", \"target\": " + row[1] +
             ", \"id\": " + row[2] + "}\n";
    texts += row[2] + "\n";
  }
  const std::string arrays[] = {
      folder.write("preds.npy", npy<double>("<f8", preds)),
      folder.write("target.npy", npy<double>("<f8", target))};
  const std::string names = folder.write("ids.txt", texts);
  const auto interval = [&](Words words) {
    words.insert(words.begin(),
                 {"-m", "MeanSquaredError", "--interval", "0.9",
                  "--interval-method", "poisson", "--format", "json"});
    const auto result = run_program(evaluate(std::move(words)));
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output)["intervals"]["MeanSquaredError"];
  };
  const Json wanted =
      interval({"--csv", folder.write("x.csv", csv), "--ids", "id"});
  const auto expect_same = [&](const Words& words) {
    const Json json = interval(words);
    for (const char* part : {"value", "low", "high"}) {
      expect_near(json[part], wanted[part], 1e-12);
    }
  };
  expect_same({"-i", folder.write("x.jsonl", lines), "--ids", "id"});
  const std::string numbers =
      folder.write("ids.npy", npy<std::int64_t>("<i8", ids));
  for (const char* ranks : {"1", "3"}) {
    expect_same({"-i", arrays[0], arrays[1], "--ids", numbers, "--ranks", ranks,
                 "--batch-size", "4"});
  }
  expect_same({"-i", arrays[0], arrays[1], "--ids", names});
  const auto piped = run_program(
      {"/bin/sh", "-c",
       "cat " + names + " | cli/tally evaluate -m MeanSquaredError --inputs " +
           arrays[0] + " " + arrays[1] +
           " --ids - --interval 0.9 --interval-method poisson --format json "
           "--ranks 2"});
  expect_near(Json::parse(piped.output)["intervals"]["MeanSquaredError"]["low"],
              wanted["low"], 1e-12);
  EXPECT_NE(interval({"-i", arrays[0], arrays[1]})["low"], wanted["low"]);
  expect_refusal(
      run_program(
          evaluate({"-m", "MeanSquaredError", "-i", arrays[0], arrays[1],
                    "--interval", "0.9", "--ids", data_file("target.npy")})),
      "expected the same number of rows in " + data_file("target.npy"));
}

TEST(TallyIntervalsTest, RefusesIntervalsThatThereAreNot) {
  const Folder folder;
  const std::string csv =
      folder.write("x.csv", "preds,target,id\n1,1,a\n0,1,a\n0,1,b\n");
  const auto refusal = [&](const char* metric, const char* method) {
    return run_program(evaluate({"-m", metric, "--csv", csv, "--columns",
                                 "preds,target", "--ids", "id", "--interval",
                                 "0.95", "--interval-method", method}));
  };
  expect_refusal(refusal("worst=MaxError", "auto"),
                 "--interval: worst: MaxError has no interval");
  expect_refusal(refusal("MeanSquaredError", "delong"),
                 "expected a metric that method delong fits, got "
                 "MeanSquaredError(");
  expect_refusal(refusal("MeanSquaredError", "jackknife"),
                 "expected each id once, got ");
}

/// Ten rows each of 60 patients, a third of them in the south, where the rows
/// of every other patient are wrong.
std::string patients() {
  std::string csv = "preds,target,site,patient,row,version\n";
  for (int i = 0; i < 600; ++i) {
    const int patient = i / 10;
    const bool is_south = patient % 3 == 0;
    const bool is_right = is_south ? patient % 2 == 0 : i % 7 > 0;
    csv += std::string(is_right ? "1" : "0") + ",1," +
           (is_south ? "south" : "north") + ",p" + std::to_string(patient) +
           ",r" + std::to_string(i) + (patient < 30 ? ",1.0\n" : ",1.10\n");
  }
  return csv;
}

TEST(TallySlicesTest, ComparesSlicesOfRowsAndOfGroups) {
  const Folder folder;
  const std::string csv = folder.write("x.csv", patients());
  const auto output = [&](Words more) {
    more.insert(more.begin(), {"-m", "BinaryAccuracy", "--csv", csv,
                               "--columns", "preds,target", "--by", "site"});
    const auto result = run_program(evaluate(more));
    EXPECT_EQ(result.status, 0) << result.errors;
    return result.output;
  };
  const auto compared = [&](Words more) {
    more.insert(more.end(), {"--format", "json"});
    return Json::parse(output(more))["compared"]["BinaryAccuracy"];
  };
  const Json rows = compared({"--ids", "row"});
  const Json groups = compared({"--groups", "patient", "--interval", "0.9"});
  EXPECT_EQ(rows["unit"], "row");
  EXPECT_EQ(rows["level"], 0.95);
  EXPECT_EQ(groups["unit"], "group");
  EXPECT_EQ(groups["level"], 0.9);
  EXPECT_EQ(rows["slices"][0]["key"], Json({{"site", "south"}}));
  EXPECT_EQ(rows["slices"][0]["units"], 200);
  EXPECT_EQ(groups["slices"][0]["units"], 20);
  EXPECT_EQ(groups["slices"][0]["difference"], rows["slices"][0]["difference"]);
  EXPECT_LT(rows["slices"][0]["q_value"], 1e-6);
  EXPECT_GT(groups["slices"][0]["q_value"], 1e-3);
  EXPECT_LT(groups["slices"][0]["high"], 0);
  EXPECT_EQ(compared({"--groups", "patient", "--interval", "0.9", "--ranks",
                      "3", "--batch-size", "17"}),
            groups);
  EXPECT_TRUE(compared({}).is_null());

  const std::string table = output({"--groups", "patient"});
  EXPECT_THAT(table,
              AllOf(HasSubstr("BinaryAccuracy: slices against all other rows\n"
                              "       rows  units  value   rest"),
                    HasSubstr("         p          q\nsouth   200     20"),
                    HasSubstr("A unit is a group. Low and high: the 95% "),
                    HasSubstr("q: p adjusted for the 2 slices of this metric "
                              "(Benjamini and Hochberg).\n")));
  EXPECT_THAT(output({"--groups", "patient", "--format", "csv"}),
              AllOf(HasSubstr("south,200,BinaryAccuracy.units,,20\n"),
                    HasSubstr("south,200,BinaryAccuracy.q_value,,0.")));
}

TEST(TallySlicesTest, SaysWhatItDoesNotKnow) {
  const Folder folder;
  const std::string csv = folder.write("x.csv", patients());
  // One patient with 10 positives, of which the recall needs 30.
  const auto output = [&](const char* metric, const char* by) {
    const auto result = run_program(
        evaluate({"-m", metric, "--csv", csv, "--columns", "preds,target",
                  "--by", by, "--groups", "patient"}));
    EXPECT_EQ(result.status, 0) << result.errors;
    return result.output;
  };
  EXPECT_THAT(output("BinaryRecall", "version"),
              AllOf(HasSubstr("\n1.0    300     30"),
                    HasSubstr("\n1.10   300     30")));
  EXPECT_THAT(output("BinaryRecall", "patient"),
              HasSubstr("\nBinaryRecall: no slice is compared: fewer than 30 "
                        "rows decide the value, or that of the rest.\n"));
  EXPECT_THAT(output("BinaryRecall", "preds"),
              HasSubstr("0, 1: no variation: all units have the same value"));
  // Their bias in a small slice would be a difference.
  EXPECT_THAT(output("BinaryCalibrationError", "version"),
              HasSubstr("\nBinaryCalibrationError: slices are not compared: "
                        "BinaryCalibrationError has no "
                        "interval: the gaps of its bins"));
}

TEST(TallySlicesTest, AnIdThatRepeatsIsShownAsItWasWritten) {
  const Folder folder;
  const std::string csv = folder.write("x.csv", patients());
  for (const char* ranks : {"1", "3"}) {
    expect_refusal(
        run_program(evaluate({"-m", "BinaryAccuracy", "--csv", csv, "--columns",
                              "preds,target", "--by", "site", "--ids",
                              "patient", "--ranks", ranks})),
        csv +
            ", line 3: --ids: expected each id once, got 'p0' again; rows "
            "that belong together need --groups");
  }
}

TEST(TallySlicesTest, RefusesWhatCannotBeSliced) {
  const Folder folder;
  std::string scores = "preds,target,site\n";
  for (int i = 0; i < 150; ++i) scores += "1,1,0." + std::to_string(i) + "\n";
  const std::string csv = folder.write("x.csv", scores);
  const auto refusal = [&](const char* metric, const char* by) {
    return run_program(evaluate(
        {"-m", metric, "--csv", csv, "--by", by, "--columns", "preds,target"}));
  };
  expect_refusal(refusal("BinaryAccuracy", "none"), csv + ": no column 'none'");
  expect_refusal(
      refusal("BinaryAccuracy", "site"),
      csv +
          ": --by: expected integers, texts or up to 100 "
          "numbers with fractions in column 'site', got 0.0 and more; "
          "put numbers into bins");
  expect_refusal(refusal("MinMaxMetric(metric=BinaryAccuracy())", "target"),
                 "--by: expected a metric whose value does not depend on the "
                 "batches that rows come in, got "
                 "MinMaxMetric(metric=BinaryAccuracy(threshold=0.5, ");
}

}  // namespace
}  // namespace tally::cli

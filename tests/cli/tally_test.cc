#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"
#include "tally/tests/examples/program.h"
#include "tally/version.h"

namespace tally::cli {
namespace {

using tally::testkit::Program;
using tally::testkit::run_program;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const char* const kMetrics =
    "accuracy=MulticlassAccuracy(num_classes=3, average=micro); "
    "f1=MulticlassF1Score(num_classes=3, average=none);"
    "confusion=MulticlassConfusionMatrix(num_classes=3); "
    "auroc=MulticlassAUROC(num_classes=3, average=none); "
    "loss=MulticlassLogLoss(num_classes=3)";

Words evaluate_predictions(Words words = {}) {
  words.insert(words.begin(),
               {"--metrics", kMetrics, "--inputs", data_file("preds.npy"),
                data_file("target.npy"), "--format", "json"});
  return evaluate(std::move(words));
}

Json expected() { return Json::parse(read_file(data_file("expected.json"))); }

/// That a program ended well with the expected values; the tolerance is far
/// below what one sample counts.
void expect_values(const Program::Result& result, int ranks,
                   double tolerance = 1e-12, const std::string& remarks = "") {
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, remarks);
  const Json json = Json::parse(result.output);
  EXPECT_EQ(json.at("ranks"), ranks);
  EXPECT_EQ(json.at("rows"), 19);
  for (const auto& [name, value] : json.at("metrics").items()) {
    SCOPED_TRACE(name);
    expect_near(value, expected().at(name), tolerance);
  }
}

TEST(TallyTest, Plans) {
  const Words words = {"cli/tally", "plan", "width",    "--proportion", "0.9",
                       "--width",   "0.05", "--format", "json"};
  const auto result = run_program(words);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(Json::parse(result.output).at("rows"), 557);
  expect_refusal(run_program({"cli/tally", "plan", "mcnemar"}),
                 "plan mcnemar: requires --first-only");
}

TEST(TallyTest, GivesTheValuesOfScikitLearn) {
  expect_values(run_program(evaluate_predictions()), 1);
  expect_values(run_program(evaluate_predictions({"--batch-size", "4"})), 1);
  expect_values(
      run_program(evaluate({"--format=json", "--metrics",
                            "weighted_loss=MulticlassLogLoss(num_classes=3)",
                            "--inputs", data_file("preds.npy"),
                            data_file("target.npy"), data_file("weight.npy")})),
      1);
}

class TallyRanksTest : public ::testing::TestWithParam<int> {};

TEST_P(TallyRanksTest, GiveTheSameValues) {
  const std::string ranks = std::to_string(GetParam());
  expect_values(run_program(evaluate_predictions({"--ranks", ranks})),
                GetParam());
}

INSTANTIATE_TEST_SUITE_P(Ranks, TallyRanksTest, ::testing::Values(2, 3, 5));

TEST(TallyTest, SplitsCanHaveZeros) {
  expect_values(run_program(evaluate_predictions({"--split", "12,0,7,0"})), 4);
  expect_values(run_program(evaluate_predictions(
                    {"--split=0,19", "--ranks=2", "--batch-size=5"})),
                2);
}

TEST(TallyTest, MoreRanksThanRowsAreIdle) {
  const Folder folder;
  const std::string csv = folder.write("x.csv", "a\n1\n2\n");
  const auto result =
      run_program(evaluate({"--metrics", "SumMetric; CatMetric", "--csv", csv,
                            "--ranks", "3", "--format", "csv"}));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output,
              HasSubstr("SumMetric,,3.0\nCatMetric,0,1\nCatMetric,1,2\n"));
}

TEST(TallyTest, ReadsCsv) {
  // Its scores are rounded to the digits that tell float32 apart.
  const double rounding = 1e-7;
  const Words csv = {
      "--metrics", kMetrics,       "--csv",    data_file("predictions.csv"),
      "--columns", "p0:p2,target", "--format", "json"};
  const std::string remarks =
      "tally: preds is column 'p0:p2', target is column 'target'\n";
  expect_values(run_program(evaluate(csv)), 1, rounding, remarks);
  Words ranks = csv;
  ranks.insert(ranks.end(), {"--ranks", "3", "--batch-size", "2"});
  expect_values(run_program(evaluate(ranks)), 3, rounding, remarks);
  const auto mse = [](const std::string& columns) {
    return run_program(evaluate({"--metrics", "mse=MeanSquaredError", "--csv",
                                 data_file("predictions.csv"), "--columns",
                                 columns, "--format", "json"}));
  };
  expect_values(mse("target,weight"), 1, 1e-12,
                "tally: preds is column 'target', target is column 'weight'\n");
  expect_values(mse("preds=target,target=weight"), 1);
}

TEST(TallyTest, FindsColumnsByTheirNames) {
  const Folder folder;
  const std::string csv = folder.write(
      "x.csv", "id,label,prediction\na,3,2.5\nb,-0.5,0\nc,2,2\nd,7,8\n");
  const auto result =
      run_program(evaluate({"-m", "R2Score", "--csv", csv, "--format", "csv"}));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.errors,
            "tally: preds is column 'prediction', target is column 'label'\n");
  EXPECT_THAT(result.output, HasSubstr("R2Score,,0.9486"));
  expect_refusal(
      run_program(evaluate({"-m", "MeanSquaredError", "--csv",
                            folder.write("y.csv", "a,b,c\n1,1,1\n")})),
      "no column found for preds or target among 'a', 'b', 'c'; assign columns "
      "with --columns preds=COLUMN,target=COLUMN");
}

TEST(TallyTest, ReadsLabelsAndLeavesRowsOut) {
  const Folder folder;
  const std::string csv =
      folder.write("x.csv", "preds;target\ncat;cat\ndog;cat\n;dog\ndog;dog\n");
  const auto result =
      run_program(evaluate({"-m", "MulticlassConfusionMatrix(num_classes=2)",
                            "--csv", csv, "--delimiter", ";", "--missing",
                            "skip", "--labels", "cat,dog", "--ranks", "2"}));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output,
            "MulticlassConfusionMatrix  cat  dog\n"
            "cat                          1    1\n"
            "dog                          0    1\n");
  EXPECT_EQ(result.errors,
            "tally: preds is column 'preds', target is column 'target'\n"
            "tally: rows skipped because of a missing field: 1\n");
}

TEST(TallyTest, EvaluatesClustersAndCategories) {
  const Folder folder;
  const auto values = [&](const std::string& metrics, const std::string& text,
                          const std::string& columns) {
    const auto result = run_program(
        evaluate({"-m", metrics, "--csv", folder.write("x.csv", text),
                  "--columns", columns, "--ranks", "2", "--format", "json"}));
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output).at("metrics");
  };
  const Json labels =
      values("RandScore; FowlkesMallowsIndex; TheilsU",
             "preds,target\n0,-5\n0,-5\n1,70\n1,-5\n", "preds,target");
  EXPECT_EQ(labels.at("RandScore"), 0.5);
  EXPECT_NEAR(labels.at("FowlkesMallowsIndex"), std::sqrt(1 / 6.0), 1e-15);
  const Json points = values(
      "CalinskiHarabaszScore; DaviesBouldinScore(q=2); DunnIndex; "
      "SilhouetteScore",
      "x,y,own\n0,0,4\n0,2,4\n6,0,9\n6,2,9\n", "x:y,own");
  EXPECT_NEAR(points.at("CalinskiHarabaszScore"), 18, 1e-12);
  EXPECT_NEAR(points.at("DaviesBouldinScore"), 1 / 3.0, 1e-15);
  EXPECT_NEAR(points.at("DunnIndex"), 6, 1e-12);
  const double outside = 3 + std::sqrt(10);
  EXPECT_NEAR(points.at("SilhouetteScore"), 1 - 2 / outside, 1e-12);
  const Json ratings = values("FleissKappa", "a,b\n2,0\n1,2\n1,1\n", "a:b");
  EXPECT_NEAR(ratings.at("FleissKappa"),
              (4 / 9.0 - 25 / 49.0) / (1 - 25 / 49.0), 1e-12);
}

TEST(TallyTest, ReadsPipes) {
  const Folder folder;
  const std::string csv =
      folder.write("x.csv", "preds,target\n1,2\n3,3\n5,4\n");
  const std::string command =
      "cli/tally evaluate -m MeanSquaredError --columns "
      "preds=preds,target=target --format csv --csv ";
  for (const char* ranks : {"1", "3"}) {
    const auto result =
        run_program({"/bin/sh", "-c",
                     "cat " + csv + " | " + command + "- --ranks " + ranks});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_EQ(result.output,
              "metric,index,value\nMeanSquaredError,,0.6666666666666666\n");
  }
  const auto refused = run_program(
      {"/bin/sh", "-c", "printf 'preds,target\\n1,x\\n' | " + command + "-"});
  EXPECT_EQ(refused.errors,
            "tally: -, line 2: column 'target': expected a number, got 'x'\n");
  Program rank(
      {"cli/tally", "evaluate", "-m", "MeanSquaredError", "--csv", "-"},
      {"RANK=0", "WORLD_SIZE=2", "TALLY_STORE=" + folder.path("store")});
  expect_refusal(rank.wait(), "-: expected a file that all ranks can read");
}

TEST(TallyTest, SaysItsVersion) {
  const auto result = run_program({"cli/tally", "--version"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output,
              StartsWith(std::string("tally " TALLY_VERSION " (LibTorch ") +
                         build_info().libtorch + ", "));
  EXPECT_EQ(result.output.find("not optimized"), std::string::npos);
}

TEST(TallyTest, TakesInputsByName) {
  const Words named = {
      "--metrics",
      "fairness=BinaryFairness(num_groups=2); accuracy=BinaryAccuracy; "
      "mean=MeanMetric",
      "--format", "json", "--csv"};
  const Folder folder;
  const std::string csv = folder.write(
      "x.csv", "g,t,p,l\n0,1,0.9,2\n1,0,0.2,4\n0,0,0.8,2\n1,1,0.7,4\n");
  Words words = named;
  words.insert(words.end(),
               {csv, "--columns", "groups=g,target=t,preds=p,value=l"});
  for (const char* ranks : {"1", "2"}) {
    Words all = words;
    all.insert(all.end(), {"--ranks", ranks});
    const auto result = run_program(evaluate(all));
    ASSERT_EQ(result.status, 0) << result.errors;
    const Json metrics = Json::parse(result.output).at("metrics");
    EXPECT_EQ(metrics.at("accuracy"), 0.75);
    EXPECT_EQ(metrics.at("mean"), 3);
  }
  const std::string preds = "preds=" + data_file("preds.npy");
  const std::string target = "target=" + data_file("target.npy");
  expect_values(run_program(evaluate({"--metrics", kMetrics, "--format", "json",
                                      "--inputs", target, preds})),
                1);
  expect_refusal(run_program(evaluate({"--metrics",
                                       "BinaryFairness(num_groups=2); "
                                       "BinaryAccuracy",
                                       "--csv", csv, "--columns", "p,t,g"})),
                 "input 2 has several meanings: BinaryFairness as 'groups', "
                 "BinaryAccuracy as 'weight'; pass inputs by name: --columns "
                 "preds=COLUMN,target=COLUMN,groups=COLUMN,weight=COLUMN");
  expect_refusal(run_program(evaluate({"--metrics", kMetrics, "--inputs", preds,
                                       data_file("target.npy")})),
                 "--inputs: expected names for all files or for none, got 1 "
                 "names for 2 files");
  expect_refusal(
      run_program(evaluate({"--metrics", kMetrics, "--inputs", preds})),
      "accuracy: expected the inputs preds, target[, weight], got no target");
  expect_refusal(run_program(evaluate({"--metrics", kMetrics, "--inputs", preds,
                                       "targets=" + data_file("target.npy")})),
                 "no metric takes an input 'targets'; did you mean 'target'?");
}

TEST(TallyTest, RanksTheDocumentsOfQueries) {
  const Folder folder;
  const std::string preds = folder.write(
      "preds.npy", npy<double>("<f8", {0.9, 0.1, 0.8, 0.2, 0.7, 0.7}));
  const std::string target =
      folder.write("target.npy", npy<std::int64_t>("<i8", {0, 0, 1, 2, 1, 0}));
  const std::string indexes = folder.write(
      "indexes.npy", npy<std::int64_t>("<i8", {7, -3, 7, -3, 5, 5}));
  for (const char* ranks : {"1", "3"}) {
    const auto result = run_program(evaluate(
        {"--metrics", "RetrievalMAP; each=RetrievalMRR(aggregation=none)",
         "--inputs", preds, target, indexes, "--ranks", ranks, "--format",
         "json"}));
    ASSERT_EQ(result.status, 0) << result.errors;
    const Json metrics = Json::parse(result.output).at("metrics");
    EXPECT_EQ(metrics.at("RetrievalMAP"), 0.75);
    EXPECT_EQ(metrics.at("each"), Json({1, 0.75, 0.5}));
  }
  expect_refusal(run_program(evaluate({"--metrics", "RetrievalMAP", "--inputs",
                                       preds, target, preds})),
                 "expected indexes to be int queries");
}

TEST(TallyTest, ReadsAConfigAndWritesAFile) {
  const Folder folder;
  const std::string config = folder.write(
      "config.json",
      "{\"metrics\": {\"mse\": \"MeanSquaredError\"}, \"prefix\": \"val_\"}");
  const std::string output = folder.write("out", "before");
  const auto result = run_program(evaluate(
      {"--config", config, "--inputs", data_file("target.npy"),
       data_file("weight.npy"), "--output", output, "--format", "json"}));
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, IsEmpty());
  const Json json = Json::parse(read_file(output));
  expect_near(json.at("metrics").at("val_mse"), expected().at("mse"), 1e-12);
  EXPECT_EQ(folder.size(), 2u);
}

TEST(TallyTest, RunsUnderALauncher) {
  const Folder folder;
  const auto start = [&](int rank) {
    return std::make_unique<Program>(
        evaluate_predictions(),
        Words{"RANK=" + std::to_string(rank), "WORLD_SIZE=2",
              "TALLY_STORE=" + folder.path("store")});
  };
  const auto first = start(0);
  const auto second = start(1);
  expect_values(first->wait(), 2);
  const auto silent = second->wait();
  EXPECT_EQ(silent.status, 0);
  EXPECT_EQ(silent.output + silent.errors, "");
}

TEST(TallyTest, SaysWhatIsWrongOnceUnderALauncher) {
  const Folder folder;
  const auto start = [&](int rank, const std::string& ranks) {
    return std::make_unique<Program>(
        evaluate_predictions({"--ranks", ranks}),
        Words{"RANK=" + std::to_string(rank), "WORLD_SIZE=2",
              "TALLY_STORE=" + folder.path("store")});
  };
  const auto first = start(0, "2");
  const auto second = start(1, "3");
  expect_refusal(first->wait(),
                 "--ranks: expected the 2 of the launcher, got 3");
  const auto silent = second->wait();
  EXPECT_EQ(silent.status, 2);
  EXPECT_EQ(silent.output + silent.errors, "");
}

TEST(TallyTest, SaysWhatIsWrongWithArgumentsAndFiles) {
  const std::string preds = data_file("preds.npy");
  const std::string target = data_file("target.npy");
  const auto refusal = [&](const Words& words, const std::string& what) {
    SCOPED_TRACE(what);
    expect_refusal(run_program(evaluate(words)), what);
  };
  const std::string accuracy = "MulticlassAccuracy(num_classes=3)";
  refusal({}, "expected either --metrics or --config");
  refusal({"--metrics", "MulticlassAcuracy", "--inputs", preds, target},
          "unknown metric 'MulticlassAcuracy'; did you mean "
          "'MulticlassAccuracy'?");
  refusal(
      {"--metrics", accuracy, "--inputs", preds},
      "MulticlassAccuracy: expected the inputs preds, target[, weight], got "
      "1");
  refusal({"--metrics", "a=MulticlassLogLoss(num_classes=3)", "--inputs", preds,
           target, target, target},
          "a: expected the inputs preds, target[, weight], got 4");
  refusal({"--metrics", "MulticlassLogLoss(num_classes=3)", "--inputs", target,
           target},
          "expected preds [N, 3, ...] and target [N, ...], got sizes [19] and "
          "[19]");
  refusal(
      {"--metrics", "MeanSquaredError", "--inputs", preds, data_file("f8.npy")},
      ", got 3 and 19");
  refusal({"--metrics", "CatMetric", "--inputs", data_file("c8.npy")},
          "c8.npy: expected real numbers, got complex64");
  refusal({"--metrics", "MultitaskWrapper(tasks={a: MeanSquaredError()})",
           "--inputs", preds, preds},
          "expected preds to be a map of names to real [N, ...], got .npy, "
          ".npz, text files; it is read from no file");
  refusal({"--metrics", accuracy, "--inputs", preds, target, "--split", "9,9"},
          "--split: expected numbers that add up to 19 rows");
  refusal(
      {"--metrics", accuracy, "--inputs", preds, "none.npy", "--ranks", "2"},
      "none.npy: cannot be opened");
  refusal({"--metrics", "MulticlassAccuracy(num_classes=999999)", "--inputs",
           preds, target},
          "option 'num_classes': expected at most 100000 for this amount of "
          "data, got 999999");
  refusal({"--metrics", "MulticlassConfusionMatrix(num_classes=40000)",
           "--inputs", target, target},
          "expected a tensor of at most 512 MB for files of this size");
  refusal({"--config", target, "--inputs", preds},
          "target.npy: expected text in UTF-8, got a NumPy array");
  refusal({"--metrics",
           accuracy + "; b=MulticlassAUROC(num_classes=3); MeanSquaredError",
           "--csv", data_file("predictions.csv"), "--columns", "id,target"},
          "line 2: column 'id': expected a number");
}

TEST(TallyTest, SaysWhatIsWrongOnAnyRankAndWritesNothing) {
  const Folder folder;
  const std::string csv =
      folder.write("x.csv", "preds,target\n0,1\n1,1\n1,2\n0,5\n");
  const std::string output = folder.write("out", "before");
  const auto result =
      run_program(evaluate({"--metrics", "MulticlassAccuracy(num_classes=3)",
                            "--csv", csv, "--ranks", "4", "--output", output}));
  expect_refusal(result,
                 csv +
                     ", line 5, column 'target': expected target in [0, 3), "
                     "got 5 (MulticlassAccuracy)");
  EXPECT_EQ(read_file(output), "before");
  EXPECT_EQ(folder.size(), 2u);
}

TEST(TallyTest, ListsAndDescribes) {
  const auto list = run_program({"cli/tally", "list"});
  EXPECT_EQ(list.status, 0);
  EXPECT_THAT(list.output, HasSubstr("\n  MulticlassAccuracy "));
  EXPECT_THAT(list.output, HasSubstr("\n  DiceLoss "));
  EXPECT_THAT(run_program({"cli/tally", "describe", "DiceLoss"}).output,
              HasSubstr("\n  smooth_nr "));
  const auto described =
      run_program({"cli/tally", "describe", "MulticlassAccuracy"});
  EXPECT_EQ(described.status, 0);
  EXPECT_THAT(described.output, HasSubstr("num_classes       required"));
  expect_refusal(run_program({"cli/tally", "describe", "Accurracy"}),
                 "unknown metric or loss 'Accurracy'");
  expect_refusal(run_program({"cli/tally", "describe", "accuracy"}),
                 "did you mean 'BinaryAccuracy', 'MulticlassAccuracy' or "
                 "'MultilabelAccuracy'?");
  EXPECT_THAT(run_program({"cli/tally", "--help"}).output,
              EndsWith("\nfiles in the order of their names.\n"));
}

}  // namespace
}  // namespace tally::cli

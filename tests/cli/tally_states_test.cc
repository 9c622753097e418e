#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"
#include "tally/tests/examples/program.h"

// evaluate --save, merge and show: parts of one evaluation, added up.

namespace tally::cli {
namespace {

using tally::testkit::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Result = testkit::Program::Result;

class TallyStatesTest : public ::testing::Test {
 protected:
  static constexpr int kRows = 60;

  /// The rows of one part of several.
  std::string rows(int first, int last) {
    std::string text = "id,site,target,p\n";
    for (int i = first; i < last; ++i) {
      text += "r" + std::to_string(i) + "," + (i % 3 == 0 ? "north" : "south") +
              "," + std::to_string(i * 7 % 10 < 4 ? 1 : 0) + "," +
              std::to_string(i * 37 % 41 / 41.) + "\n";
    }
    return folder_.write("rows" + std::to_string(folder_.size()) + ".csv",
                         text);
  }
  static Words words(const std::string& csv, const Words& more) {
    Words words = {"-m",        "accuracy=BinaryAccuracy; roc=BinaryAUROC",
                   "--csv",     csv,
                   "--columns", "preds=p,target=target"};
    words.insert(words.end(), more.begin(), more.end());
    return evaluate(words);
  }
  /// Files of `parts` parts.
  std::vector<std::string> saved(int parts, const Words& more = {}) {
    std::vector<std::string> files;
    for (int i = 0; i < parts; ++i) {
      files.push_back(folder_.path("part" + std::to_string(folder_.size()) +
                                   "_" + std::to_string(i)));
      Words all = {"--save", files.back(), "--part",
                   std::to_string(i) + "/" + std::to_string(parts)};
      all.insert(all.end(), more.begin(), more.end());
      const Result result = run_program(
          words(rows(kRows * i / parts, kRows * (i + 1) / parts), all));
      EXPECT_EQ(result.status, 0) << result.errors;
    }
    return files;
  }
  static Result merge(const std::vector<std::string>& files,
                      const std::string& to, const Words& more = {}) {
    Words words = {"cli/tally", "merge"};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"-o", to});
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }
  static Json shown(const std::string& file) {
    const Result result =
        run_program({"cli/tally", "show", file, "--format", "json"});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.errors, IsEmpty());
    return Json::parse(result.output);
  }
  static Json evaluated(const Words& words) {
    Words all = words;
    all.insert(all.end(), {"--format", "json"});
    const Result result = run_program(all);
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output);
  }
  static std::string refusal(const Words& words) {
    const Result result = run_program(words);
    EXPECT_EQ(result.status, 2) << result.output;
    return result.errors;
  }

  Folder folder_;
  const std::string all_ = folder_.path("all.tally");
};

TEST_F(TallyStatesTest, PartsAddUpToTheWhole) {
  const auto files = saved(3);
  const Result result = merge(files, all_);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, all_ + ": 3 files, 3 updates, 3 of 3 parts\n");
  const Json file = shown(all_);
  EXPECT_EQ(file["metrics"], evaluated(words(rows(0, kRows), {}))["metrics"]);
  EXPECT_EQ(file["sources"].size(), 3u);
  EXPECT_EQ(file["parts"]["missing"].size(), 0u);
  EXPECT_TRUE(file["rows"].is_null());
  EXPECT_EQ(file["updates"], 3);
  EXPECT_THAT(file["spec"].get<std::string>(),
              HasSubstr("accuracy: BinaryAccuracy("));
}

TEST_F(TallyStatesTest, PartsOfRanksAddUp) {
  const auto files = saved(2, {"--ranks", "2"});
  ASSERT_EQ(merge(files, all_).status, 0);
  const Json file = shown(all_);
  EXPECT_EQ(file["metrics"], evaluated(words(rows(0, kRows), {}))["metrics"]);
  EXPECT_EQ(file["sources"].size(), 4u);
}

TEST_F(TallyStatesTest, SlicesAndIntervalsAddUp) {
  auto files = saved(2, {"--by", "site"});
  ASSERT_EQ(merge(files, all_).status, 0);
  const Json whole = evaluated(words(rows(0, kRows), {"--by", "site"}));
  Json slices = shown(all_)["slices"];
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["key"]["slice"], "north");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(slices[i]["metrics"], whole["slices"][i]["metrics"]);
  }
  const Words interval = {"-m",  "BinaryAUROC", "--interval",
                          "0.9", "--ids",       "id"};
  const auto one = [&](const std::string& csv, const Words& more) {
    Words words = {"--csv", csv, "--columns", "preds=p,target=target"};
    words.insert(words.end(), interval.begin(), interval.end());
    words.insert(words.end(), more.begin(), more.end());
    return evaluate(words);
  };
  const std::string a = folder_.path("a"), b = folder_.path("b");
  ASSERT_EQ(run_program(one(rows(0, 25), {"--save", a})).status, 0);
  ASSERT_EQ(run_program(one(rows(25, kRows), {"--save", b})).status, 0);
  ASSERT_EQ(merge({a, b}, all_).status, 0);
  const Json found = shown(all_);
  EXPECT_EQ(found["rows"], kRows);
  EXPECT_EQ(found["intervals"],
            evaluated(one(rows(0, kRows), {}))["intervals"]);
}

TEST_F(TallyStatesTest, WhatIsShownSaysWhatItIsOf) {
  const auto files = saved(3);
  const Result table = run_program({"cli/tally", "show", files[1]});
  EXPECT_THAT(table.output,
              AllOf(StartsWith("MetricCollection(metrics={accuracy: "),
                    HasSubstr("1 update of 1 accumulation, part 1 of 3\n"),
                    HasSubstr("\naccuracy  0.")));
  const Result csv =
      run_program({"cli/tally", "show", files[1], "--format=csv", "-o", all_});
  EXPECT_EQ(csv.status, 0);
  EXPECT_THAT(read_file(all_), StartsWith("metric,index,value\n"));
}

TEST_F(TallyStatesTest, FilesOfEarlierVersionsAreShown) {
  const std::string folder = "tests/metrics/portable/data/";
  int shown = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".tally") continue;
    const Result result = run_program({"cli/tally", "show", entry.path()});
    EXPECT_EQ(result.status, 0) << result.errors;
    std::filesystem::path text = entry.path();
    EXPECT_EQ(result.output, read_file(text.replace_extension(".txt")));
    ++shown;
  }
  EXPECT_EQ(shown, 15);
}

TEST_F(TallyStatesTest, NothingIsCountedTwice) {
  const auto files = saved(3);
  EXPECT_EQ(merge({files[0], files[0]}, all_).status, 2);
  EXPECT_THAT(merge({files[0], files[1], files[0]}, all_).errors,
              HasSubstr("expected each file once, got " + files[0]));
  const std::string same = folder_.write("same", read_file(files[0]));
  EXPECT_THAT(merge({files[0], files[1], same}, all_).errors,
              AllOf(HasSubstr(same + ": holds what " + files[0]),
                    HasSubstr("counted twice")));
  const std::string two = folder_.path("two");
  ASSERT_EQ(merge({files[0], files[1]}, two, {"--partial"}).status, 0);
  EXPECT_THAT(merge({two, files[1]}, all_).errors,
              HasSubstr(files[1] + ": holds what " + two));
  EXPECT_EQ(merge({two, files[2]}, all_).status, 0);
  const auto again = saved(3);
  EXPECT_THAT(
      merge({files[0], files[1], again[0]}, all_).errors,
      HasSubstr(again[0] + ": is part 0 of 3, which " + files[0] + " is, too"));
}

TEST_F(TallyStatesTest, MissingPartsAreSaid) {
  const auto files = saved(4);
  EXPECT_THAT(merge({files[1], files[3]}, all_).errors,
              HasSubstr("expected all of 4 parts, missing 0, 2"));
  const Result partial = merge({files[1], files[3]}, all_, {"--partial"});
  EXPECT_THAT(partial.output, HasSubstr("2 of 4 parts: partial"));
  EXPECT_EQ(shown(all_)["parts"]["missing"], Json({0, 2}));
  const auto other = saved(2);
  EXPECT_THAT(merge({files[1], other[0]}, all_).errors,
              AllOf(HasSubstr("is of 2 parts"), HasSubstr("of 4 parts")));
}

TEST_F(TallyStatesTest, PartsWithoutRowsArePartsAsWell) {
  const auto files = saved(2);
  const std::string empty = folder_.path("empty"),
                    other = folder_.path("other");
  const auto save = [&](const std::string& to, const char* part) {
    const Result result =
        run_program(words(rows(0, 0), {"--save", to, "--part", part}));
    EXPECT_EQ(result.status, 0) << result.errors;
  };
  save(empty, "1/2");
  save(other, "1/3");
  EXPECT_EQ(merge({files[0], empty}, all_).status, 0);
  EXPECT_EQ(shown(all_)["sources"].size(), 1u);
  EXPECT_EQ(shown(all_)["parts"]["held"], Json({0, 1}));
  EXPECT_THAT(merge({files[1], empty}, all_).errors,
              HasSubstr(empty + ": is part 1 of 2, which " + files[1]));
  EXPECT_THAT(merge({files[0], other}, all_).errors,
              HasSubstr(other + ": is of 3 parts"));
}

TEST_F(TallyStatesTest, OtherFilesAreRefused) {
  const auto files = saved(1);
  const std::string csv = folder_.write("r.csv", "metric,index,value\nx,,1\n");
  EXPECT_THAT(merge({files[0], csv}, all_).errors,
              AllOf(HasSubstr(csv + ": "), HasSubstr("cannot be merged")));
  EXPECT_THAT(refusal({"cli/tally", "show", csv}),
              AllOf(HasSubstr("expected a Tally checkpoint"),
                    HasSubstr("evaluate writes states with --save")));
  EXPECT_THAT(refusal({"cli/tally", "show", folder_.path("none")}),
              HasSubstr("none"));
  EXPECT_THAT(merge(files, files[0]).errors,
              HasSubstr("expected another file to write to, got an input"));
  const std::string mean = folder_.path("mean");
  ASSERT_EQ(run_program(evaluate({"-m", "BinaryRecall", "--csv", rows(0, 9),
                                  "--columns", "preds=p,target=target",
                                  "--save", mean}))
                .status,
            0);
  EXPECT_THAT(merge({files[0], mean}, all_).errors,
              HasSubstr("is of no parts, but " + files[0] + " of 1 part"));
  const std::string part = folder_.path("part"),
                    recall = folder_.path("recall");
  ASSERT_EQ(
      run_program(words(rows(0, 5), {"--save", part, "--part", "0/2"})).status,
      0);
  ASSERT_EQ(run_program(evaluate({"-m", "BinaryRecall", "--csv", rows(5, 9),
                                  "--columns", "preds=p,target=target",
                                  "--save", recall, "--part", "1/2"}))
                .status,
            0);
  EXPECT_THAT(merge({part, recall}, all_).errors,
              AllOf(HasSubstr(recall + ": "), HasSubstr("expected a state of"),
                    HasSubstr("got one of")));
  const std::string whole = folder_.path("whole");
  ASSERT_EQ(run_program(words(rows(0, 9), {"--save", whole})).status, 0);
  EXPECT_THAT(merge({whole, mean}, all_).errors, HasSubstr(mean + ": "));
}

TEST_F(TallyStatesTest, ArgumentsAreRefused) {
  const std::string csv = rows(0, 9);
  const auto of = [&](const Words& more) { return refusal(words(csv, more)); };
  EXPECT_THAT(of({"--part", "0/2"}), HasSubstr("--part: requires --save"));
  for (const char* part : {"2", "2/2", "-1/2", "0/0", "a/2"}) {
    EXPECT_THAT(of({"--save", all_, "--part", part}), HasSubstr("--part: "))
        << part;
  }
  EXPECT_THAT(of({"--save", all_, "--interval", "0.9"}),
              HasSubstr("--save: expected one metric with --interval, got 2"));
  EXPECT_THAT(of({"--save", all_, "--interval", "0.9", "--by", "site"}),
              HasSubstr("--save: expected one of --by and --interval"));
  EXPECT_THAT(of({"--save", all_, "-o", all_}),
              HasSubstr("--save: expected a file other than --output"));
  EXPECT_THAT(refusal(evaluate({"-m", "MeanSquaredError", "--csv", csv,
                                "--columns", "preds=p,target=target",
                                "--interval", "0.9", "--save", all_})),
              HasSubstr("--save: requires --ids or --groups"));
  EXPECT_THAT(refusal({"cli/tally", "merge", "-o", all_}),
              HasSubstr("merge: expected files of states"));
  EXPECT_THAT(refusal({"cli/tally", "merge", csv}),
              HasSubstr("merge: requires -o FILE"));
  EXPECT_THAT(refusal({"cli/tally", "merge", csv, "--ouput", all_}),
              HasSubstr("unknown option '--ouput'; did you mean '--output'"));
  EXPECT_THAT(refusal({"cli/tally", "show"}),
              HasSubstr("show: expected one file of states, got 0"));
  EXPECT_THAT(refusal({"cli/tally", "show", csv, "--partial"}),
              HasSubstr("show: unknown option '--partial'"));
  EXPECT_THAT(refusal({"cli/tally", "report", "-m", "BinaryAccuracy", "--csv",
                       csv, "--save", all_}),
              HasSubstr("--save: not written by report"));
}

}  // namespace
}  // namespace tally::cli

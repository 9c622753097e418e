#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tally/tests/examples/program.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testkit::promised_by;
using testkit::run_program;
using Json = nlohmann::json;

constexpr const char* kClip = "examples/clip/clip";

/// Trains and returns what --json wrote.
Json train(std::vector<std::string> arguments) {
  const std::string path = ::testing::TempDir() + "/clip.json";
  arguments.insert(arguments.begin(), kClip);
  arguments.push_back("--json=" + path);
  const auto result = run_program(arguments);
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  std::ifstream file(path);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  std::remove(path.c_str());
  EXPECT_TRUE(json.is_object()) << result.output << result.errors;
  return json;
}

TEST(ClipTest, NumbersOfRanksAndMicroBatchesDoNotShow) {
  const std::vector<std::string> arguments = {"--epochs=2", "--seed=3"};
  Json one;
  for (const auto& [ranks, micro_batches] :
       {std::pair(1, 1), {1, 5}, {2, 1}, {2, 3}, {3, 2}}) {
    auto all = arguments;
    all.push_back("--ranks=" + std::to_string(ranks));
    all.push_back("--micro-batches=" + std::to_string(micro_batches));
    const Json json = train(all);
    ASSERT_EQ(json["ranks"], ranks);
    if (one.is_null()) {
      one = json;
      ASSERT_EQ(one["loss"].size(), 2 * 6);
      EXPECT_LT(one["loss"].back(), one["loss"].front());
      continue;
    }
    ASSERT_EQ(json["loss"].size(), one["loss"].size());
    for (std::size_t i = 0; i < one["loss"].size(); ++i) {
      EXPECT_NEAR(json["loss"][i].get<double>(), one["loss"][i].get<double>(),
                  1e-9)
          << ranks << " ranks, " << micro_batches << " micro-batches";
    }
    EXPECT_EQ(json["recall@1"], one["recall@1"]);
    EXPECT_EQ(json["recall@5"], one["recall@5"]);
  }
}

TEST(ClipTest, LearnsToFindTheOtherHalf) {
  const auto result = run_program({kClip, "--micro-batches=2"});
  ASSERT_EQ(result.status, 0) << result.output << result.errors;
  EXPECT_THAT(result.errors, IsEmpty());
  std::printf("%s", result.output.c_str());
  std::istringstream lines(result.output);
  std::string line;
  std::getline(lines, line);  // the heading
  std::vector<double> recalls;
  while (std::getline(lines, line)) {
    recalls.push_back(std::stod(line.substr(line.rfind(' '))));
  }
  ASSERT_EQ(recalls.size(), 21);  // by rank 0 alone
  EXPECT_LT(recalls.front(), 0.1);
  EXPECT_GT(recalls[10], 2 * recalls.front());
  EXPECT_GT(recalls.back(), 0.4);
  std::istringstream promised(promised_by("examples/clip/clip.cc"));
  while (std::getline(promised, line)) {
    if (line == "...") continue;
    EXPECT_THAT(result.output, HasSubstr(line + "\n"));
  }
}

TEST(ClipTest, LogsEachEpoch) {
  const std::string folder = ::testing::TempDir() + "/clip_log";
  const auto result =
      run_program({kClip, "--ranks=2", "--epochs=1", "--log=" + folder});
  ASSERT_EQ(result.status, 0) << result.errors;
  std::ifstream file(folder + "/log.jsonl");
  std::string line;
  std::getline(file, line);  // what it is
  for (const int epoch : {0, 1}) {
    std::getline(file, line);
    const Json json = Json::parse(line);
    EXPECT_EQ(json["step"], epoch);
    EXPECT_EQ(json["results"].size(), epoch == 0 ? 2 : 3);
    EXPECT_LT(json["results"]["recall@5"], 1);
  }
  const auto report =
      run_program({"cli/tally", "report", "--log", folder + "/log.jsonl"});
  EXPECT_EQ(report.status, 0) << report.errors;
  EXPECT_THAT(report.output, HasSubstr("Results of step 1"));
  std::filesystem::remove_all(folder);
}

TEST(ClipTest, SaysWhatIsWrongOnce) {
  const std::vector<std::tuple<std::vector<std::string>, int, std::string>>
      calls = {
          {{"--micro-batches=0"},
           2,
           "clip: option 'micro-batches': expected 1 to 100000, got 0"},
          {{"--batch-size=1"},
           2,
           "clip: option 'batch-size': expected 2 to 100000, got 1"},
          {{"--lr=0"},
           2,
           "clip: option 'lr': expected a positive number, got 0"},
          {{"train"}, 2, "clip: expected an option, got 'train'; see --help"},
          {{"--ranks=1", "--ranks=2"},
           2,
           "clip: option 'ranks' is given twice"},
          {{"--json"}, 2, "clip: option 'json': expected a value, got none"},
      };
  for (const auto& [arguments, status, line] : calls) {
    std::vector<std::string> all = {kClip};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto result = run_program(all);
    EXPECT_EQ(result.status, status);
    EXPECT_EQ(result.errors, line + "\n");
    EXPECT_THAT(result.output, IsEmpty());
  }
}

TEST(ClipTest, HelpsWithoutTraining) {
  const auto result = run_program({kClip, "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, StartsWith("Trains two networks"));
  for (const char* option :
       {"--ranks", "--micro-batches", "--epochs", "--batch-size", "--lr",
        "--seed", "--json", "--log"}) {
    EXPECT_THAT(result.output, HasSubstr(option));
  }
}

}  // namespace
}  // namespace tally

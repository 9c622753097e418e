#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tally/tests/examples/program.h"

namespace tally {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testkit::Program;
using testkit::promised_by;
using testkit::run_program;
using Json = nlohmann::json;

constexpr const char* kDigits = "examples/digits/digits";

std::string temporary(const std::string& name) {
  return ::testing::TempDir() + "/" + name;
}

/// Trains and returns what --json wrote.
Json train(std::vector<std::string> arguments,
           const std::vector<std::string>& environment = {}) {
  const std::string path = temporary("digits.json");
  arguments.insert(arguments.begin(), kDigits);
  arguments.push_back("--json=" + path);
  const auto result = run_program(arguments, environment);
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  std::ifstream file(path);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  std::remove(path.c_str());
  EXPECT_TRUE(json.is_object()) << result.output << result.errors;
  return json;
}

/// The largest difference between two numbers at the same place; infinity if
/// they do not have the same places.
double largest_difference(const Json& a, const Json& b) {
  const auto places_a = a.flatten(), places_b = b.flatten();
  if (places_a.size() != places_b.size()) return INFINITY;
  double largest = 0;
  for (const auto& [place, value] : places_a.items()) {
    if (!places_b.contains(place)) return INFINITY;
    const Json& other = places_b[place];
    if (value.is_number() && other.is_number()) {
      largest = std::max(largest,
                         std::abs(value.get<double>() - other.get<double>()));
    } else if (value != other) {
      return INFINITY;
    }
  }
  return largest;
}

TEST(DigitsTest, SaysWhatItCommunicates) {
  const auto result =
      run_program({kDigits, "--ranks=2", "--epochs=1", "--verbose"}, {});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("asked by"), HasSubstr("average_gradients"),
                    HasSubstr("\ntotal ")));
}

TEST(DigitsTest, NumberOfRanksDoesNotShow) {
  const std::vector<std::string> arguments = {"--epochs=4", "--seed=7"};
  Json one;
  for (int ranks : {1, 2, 3, 5}) {
    auto of_ranks = arguments;
    of_ranks.push_back("--ranks=" + std::to_string(ranks));
    Json json = train(of_ranks);
    ASSERT_EQ(json["ranks"], ranks);
    json.erase("ranks");
    if (ranks == 1) {
      one = json;
      EXPECT_EQ(one["loss"].size(), 4 * 45);
      EXPECT_EQ(one["metrics"].size(), 11);
      EXPECT_LT(one["loss"].back(), one["loss"].front());
      continue;
    }
    const double difference = largest_difference(json, one);
    RecordProperty("largest_difference_" + std::to_string(ranks),
                   std::to_string(difference));
    std::printf("%d ranks: largest difference to one rank %.3g\n", ranks,
                difference);
    EXPECT_LT(difference, 1e-9);
  }
}

TEST(DigitsTest, LearnsAndReports) {
  const std::string path = temporary("default.json");
  const auto start = std::chrono::steady_clock::now();
  const auto result = run_program({kDigits, "--json", path});
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - start;
  ASSERT_EQ(result.status, 0) << result.output << result.errors;
  EXPECT_THAT(result.errors, IsEmpty());
  std::printf("%s%.1f s\n", result.output.c_str(), time.count());

  std::istringstream lines(result.output);
  int epochs = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 79) << line;
    if (line.rfind("epoch ", 0) == 0) ++epochs;
  }
  EXPECT_EQ(epochs, 30);  // by rank 0 alone

  std::istringstream promised(promised_by("examples/digits/digits.cc"));
  for (std::string line; std::getline(promised, line);) {
    if (line == "...") continue;
    EXPECT_THAT(result.output, HasSubstr(line + "\n"));
  }

  std::ifstream file(path);
  const Json json = Json::parse(file);
  EXPECT_EQ(json["ranks"], 2);
  const Json& metrics = json["metrics"];
  EXPECT_GT(metrics["accuracy"], 0.95);
  EXPECT_GT(metrics["auroc"], 0.99);
  EXPECT_EQ(metrics["digit.f1"].size(), 10);
  // Each test image counted once.
  int images = 0;
  int right = 0;
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 10; ++j) {
      const int count = metrics["confusion"][i][j];
      images += count;
      if (i == j) right += count;
    }
  }
  EXPECT_EQ(images, 360);
  EXPECT_DOUBLE_EQ(metrics["accuracy"], right / 360.0);
  std::remove(path.c_str());
}

TEST(DigitsTest, RunsWithTheRanksOfALauncher) {
  const Json alone = train({"--epochs=1", "--ranks=1"});
  const std::string path = temporary("launched.json");
  const std::string store = temporary("launched_store");
  std::remove(store.c_str());
  const auto environment = [&](int rank) {
    return std::vector<std::string>{
        "RANK=" + std::to_string(rank), "WORLD_SIZE=2", "LOCAL_RANK=0",
        "LOCAL_WORLD_SIZE=2", "TALLY_STORE=" + store};
  };
  const std::vector<std::string> arguments = {kDigits, "--epochs=1",
                                              "--ranks=5", "--json=" + path};
  Program other(arguments, environment(1));
  const auto first = run_program(arguments, environment(0));
  const auto second = other.wait();
  ASSERT_EQ(first.status, 0) << first.errors;
  ASSERT_EQ(second.status, 0) << second.errors;
  EXPECT_THAT(second.output, IsEmpty());
  std::ifstream file(path);
  Json json = Json::parse(file);
  EXPECT_EQ(json["ranks"], 2);
  json["ranks"] = 1;
  EXPECT_LT(largest_difference(json, alone), 1e-9);
  std::remove(path.c_str());
  std::remove(store.c_str());
}

TEST(DigitsTest, EndsWhenARankIsKilled) {
  Program digits({kDigits, "--ranks=3", "--epochs=1000000"});
  digits.wait_for("test accuracy");
  const auto start = std::chrono::steady_clock::now();
  kill(digits.rank(1), SIGKILL);
  const auto result = digits.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(result.status, 128 + SIGKILL);
  EXPECT_THAT(result.errors,
              AllOf(HasSubstr("rank 0: SyncError kPeerLost: "),
                    HasSubstr("[rank 2] rank 2: SyncError kPeerLost: ")));
}

TEST(DigitsTest, WritesWhatIsNotANumber) {
  const Json json = train({"--epochs=1", "--lr=1e300"});
  EXPECT_EQ(json["loss"].back(), "NaN");
  EXPECT_EQ(json["metrics"]["log_loss"], "NaN");
}

TEST(DigitsTest, LogsEachEpoch) {
  const std::string folder = temporary("digits_log");
  std::filesystem::remove_all(folder);
  for (int start = 0; start < 2; ++start) {
    const auto result = run_program(
        {kDigits, "--ranks=3", "--epochs=2", "--log=" + folder}, {});
    ASSERT_EQ(result.status, 0) << result.errors;
  }
  std::ifstream file(folder + "/log.jsonl");
  std::vector<std::int64_t> epochs;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line);
    if (!json.contains("step")) continue;
    epochs.push_back(json["step"]);
    EXPECT_EQ(json["results"].size(), 12);
    EXPECT_LT(json["results"]["loss"], 5);
  }
  EXPECT_EQ(epochs, (std::vector<std::int64_t>{1, 2}));
  // That log, and for each start a file of rank 0 for TensorBoard.
  const std::filesystem::directory_iterator files(folder);
  EXPECT_EQ(std::distance(files, {}), 3);
  const auto report =
      run_program({"cli/tally", "report", "--log", folder + "/log.jsonl"}, {});
  EXPECT_EQ(report.status, 0) << report.errors;
  EXPECT_THAT(report.output,
              AllOf(HasSubstr("Results of step 2"), HasSubstr("Over 2 steps"),
                    HasSubstr("confusion of 10 classes")));
  std::filesystem::remove_all(folder);
}

TEST(DigitsTest, ALogThatCannotBeWrittenStopsNothing) {
  const std::string json = temporary("digits_unlogged.json");
  const auto result = run_program({kDigits, "--ranks=2", "--epochs=1",
                                   "--log=/proc/digits", "--json=" + json},
                                  {});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("confusion"));
  EXPECT_THAT(result.errors,
              HasSubstr("rank 0: /proc/digits: cannot be written: "));
  EXPECT_TRUE(std::filesystem::exists(json));
  std::remove(json.c_str());
}

struct BadCall {
  std::vector<std::string> arguments;
  int status;
  std::string line;
};

TEST(DigitsTest, SaysWhatIsWrongOnce) {
  const std::vector<BadCall> calls = {
      {{"--rank=2"},
       2,
       "digits: unknown option 'rank'; did you mean "
       "'ranks'?"},
      {{"--ranks", "two"},
       2,
       "digits: option 'ranks': expected an integer, "
       "got 'two'"},
      {{"--data=none.csv"}, 1, "digits: cannot open none.csv"},
      {{"--json=none/a.json"}, 1, "digits: cannot write none/a.json"},
  };
  for (const BadCall& call : calls) {
    std::vector<std::string> arguments = {kDigits};
    arguments.insert(arguments.end(), call.arguments.begin(),
                     call.arguments.end());
    const auto result = run_program(arguments);
    EXPECT_EQ(result.status, call.status);
    EXPECT_EQ(result.errors, call.line + "\n");
    EXPECT_THAT(result.output, IsEmpty());
  }
}

TEST(DigitsTest, HelpsWithoutTraining) {
  const auto result = run_program({kDigits, "--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, StartsWith("Trains a network"));
  for (const char* option : {"--ranks", "--epochs", "--batch-size", "--lr",
                             "--seed", "--data", "--json", "--log"}) {
    EXPECT_THAT(result.output, HasSubstr(option));
  }
}

}  // namespace
}  // namespace tally

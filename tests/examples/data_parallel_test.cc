#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tally/tests/examples/program.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::Program;
using testkit::promised_by;
using testkit::run_program;
using Json = nlohmann::json;

constexpr const char* kProgram = "examples/data_parallel/data_parallel";

std::string temporary(const std::string& name) {
  return ::testing::TempDir() + "/" + name;
}

std::vector<std::string> command(int ranks, const std::string& checkpoint) {
  std::vector<std::string> arguments = {
      kProgram, "--ranks=" + std::to_string(ranks),
      "--json=" + temporary("data_parallel.json")};
  if (!checkpoint.empty()) arguments.push_back("--checkpoint=" + checkpoint);
  return arguments;
}

Json written() {
  const std::string path = temporary("data_parallel.json");
  std::ifstream file(path);
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  std::remove(path.c_str());
  return json;
}

Json train(int ranks, const std::string& checkpoint) {
  const auto result = run_program(command(ranks, checkpoint));
  EXPECT_EQ(result.status, 0) << result.output << result.errors;
  return written();
}

void expect_same(const Json& actual, const Json& expected) {
  for (const char* name : {"loss", "accuracy"}) {
    ASSERT_EQ(actual[name].size(), expected[name].size()) << name;
    for (std::size_t i = 0; i < expected[name].size(); ++i) {
      EXPECT_NEAR(actual[name][i], expected[name][i], 1e-6)
          << name << " of epoch " << i + 1;
    }
  }
}

TEST(DataParallelTest, NumberOfRanksDoesNotShow) {
  const auto one = run_program(command(1, ""));
  EXPECT_EQ(one.status, 0) << one.errors;
  std::istringstream promised(
      promised_by("examples/data_parallel/"
                  "data_parallel.cc"));
  for (std::string line; std::getline(promised, line);) {
    if (line == "...") continue;
    EXPECT_THAT(one.output, HasSubstr(line + "\n"));
  }
  const Json expected = written();
  EXPECT_GT(expected["loss"].size(), 4u);
  for (int ranks : {2, 3}) {
    SCOPED_TRACE(ranks);
    expect_same(train(ranks, ""), expected);
  }
}

TEST(DataParallelTest, GoesOnAfterAKill) {
  const Json expected = train(1, "");
  const std::string checkpoint = temporary("checkpoint.pt");
  std::remove(checkpoint.c_str());
  // Ranks before the kill and after it; between, what was printed.
  const int ranks[] = {3, 2, 1};
  const char* const printed[] = {"epoch  2 ", "epoch  4 "};
  for (int i = 0; i < 2; ++i) {
    Program program(command(ranks[i], checkpoint));
    program.wait_for(printed[i]);
    ASSERT_EQ(kill(program.rank(ranks[i] - 1), SIGKILL), 0);
    EXPECT_NE(program.wait().status, 0);
  }
  expect_same(train(ranks[2], checkpoint), expected);
}

TEST(DataParallelTest, RefusesRanksThatGiveOtherBatches) {
  const auto result = run_program({kProgram, "--ranks=5"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("option 'ranks': expected a divisor of "
                                       "36, got 5"));
}

}  // namespace
}  // namespace tally

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tally/tests/examples/program.h"

namespace tally {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;
using testkit::Program;
using testkit::promised_by;
using testkit::run_program;

std::string new_folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::remove_all(folder);
  return folder;
}

std::vector<std::string> command(const std::string& folder, int ranks) {
  return {"examples/training_loop", folder, std::to_string(ranks)};
}

// The first column of the log.
std::vector<std::string> steps_of(const std::string& folder) {
  std::ifstream file(folder + "/log.csv");
  std::vector<std::string> steps;
  for (std::string line; std::getline(file, line);) {
    steps.push_back(line.substr(0, line.find(',')));
  }
  return steps;
}

// "step", then 1 to the epochs of this output, which has a line for each.
std::vector<std::string> all_steps(const std::string& output) {
  std::vector<std::string> steps = {"step"};
  const auto epochs = std::count(output.begin(), output.end(), '\n');
  for (std::ptrdiff_t i = 1; i <= epochs; ++i) {
    steps.push_back(std::to_string(i));
  }
  return steps;
}

TEST(TrainingLoopTest, NumberOfRanksDoesNotShow) {
  const std::string promised = promised_by("examples/training_loop.cc");
  ASSERT_NE(promised, "");
  const std::string folder = new_folder("training_loop");
  const auto one = run_program(command(folder, 1));
  EXPECT_EQ(one.status, 0) << one.errors;
  EXPECT_THAT(one.output, EndsWith("\n" + promised));
  // Of the line of least squares through the training rows, in Python's floats.
  EXPECT_NEAR(std::stod(promised.substr(promised.find("best ") + 5)), 0.15280,
              0.001);
  EXPECT_EQ(steps_of(folder), all_steps(one.output));
  EXPECT_TRUE(std::filesystem::exists(folder + "/best.pt"));

  const std::string other = new_folder("training_loop_3");
  const auto three = run_program(command(other, 3));
  EXPECT_EQ(three.status, 0) << three.errors;
  EXPECT_EQ(three.output, one.output);
  EXPECT_EQ(steps_of(other), all_steps(one.output));
}

TEST(TrainingLoopTest, GoesOnAfterAKill) {
  const auto expected = run_program(command(new_folder("whole"), 1));
  EXPECT_EQ(expected.status, 0) << expected.errors;
  const std::string folder = new_folder("killed");
  {
    Program program(command(folder, 3));
    program.wait_for("epoch 3,");
    ASSERT_EQ(kill(program.rank(2), SIGKILL), 0);
    EXPECT_NE(program.wait().status, 0);
  }
  // On one rank, what three had begun.
  const auto rest = run_program(command(folder, 1));
  EXPECT_EQ(rest.status, 0) << rest.errors;
  EXPECT_THAT(rest.output, StartsWith("epoch "));
  EXPECT_LT(rest.output.size(), expected.output.size());
  EXPECT_THAT(expected.output, EndsWith("\n" + rest.output));
  EXPECT_EQ(steps_of(folder), all_steps(expected.output));
}

}  // namespace
}  // namespace tally

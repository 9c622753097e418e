#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tally/tests/examples/program.h"

namespace tally {
namespace {

using testkit::Program;

class ProgramsTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string program() const { return "tests/docs/" + GetParam(); }
  std::string promised() const {
    std::ifstream file(program() + ".txt");
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_P(ProgramsTest, ProgramPrintsWhatItSays) {
  ASSERT_NE(promised(), "");
  const auto result = testkit::run_program({program()});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, promised());
}

TEST_P(ProgramsTest, ProgramPrintsTheSameOnThreeRanks) {
  const std::string store = ::testing::TempDir() + "/" + GetParam() + "_store";
  std::remove(store.c_str());
  std::vector<std::unique_ptr<Program>> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string number = std::to_string(rank);
    ranks.push_back(std::make_unique<Program>(
        std::vector<std::string>{program()},
        std::vector<std::string>{"RANK=" + number, "WORLD_SIZE=3",
                                 "LOCAL_RANK=" + number, "LOCAL_WORLD_SIZE=3",
                                 "TALLY_STORE=" + store}));
  }
  for (int rank = 0; rank < 3; ++rank) {
    const auto result = ranks[rank]->wait();
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_EQ(result.output, rank == 0 ? promised() : "") << "rank " << rank;
  }
  std::remove(store.c_str());
}

INSTANTIATE_TEST_SUITE_P(Pages, ProgramsTest,
                         ::testing::Values("readme_evaluation",
                                           "readme_training", "own_sink"),
                         [](const auto& program) { return program.param; });

}  // namespace
}  // namespace tally

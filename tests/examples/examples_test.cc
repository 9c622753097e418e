#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tally/tests/examples/program.h"

namespace tally {
namespace {

using testkit::Program;
using testkit::promised_by;
using testkit::run_program;

TEST(ExamplesTest, EvalLoopPrintsWhatItSays) {
  const std::string promised = promised_by("examples/eval_loop.cc");
  ASSERT_NE(promised, "");
  const auto alone = run_program({"examples/eval_loop"});
  EXPECT_EQ(alone.status, 0) << alone.errors;
  EXPECT_EQ(alone.output, promised);
}

TEST(ExamplesTest, EvalLoopPrintsTheSameOnThreeRanks) {
  const std::string store = ::testing::TempDir() + "/eval_loop_store";
  std::remove(store.c_str());
  const auto environment = [&](int rank) {
    const std::string number = std::to_string(rank);
    return std::vector<std::string>{
        "RANK=" + number, "WORLD_SIZE=3", "LOCAL_RANK=" + number,
        "LOCAL_WORLD_SIZE=3", "TALLY_STORE=" + store};
  };
  Program first({"examples/eval_loop"}, environment(0));
  Program second({"examples/eval_loop"}, environment(1));
  Program third({"examples/eval_loop"}, environment(2));
  const auto result = first.wait();
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, promised_by("examples/eval_loop.cc"));
  for (Program* other : {&second, &third}) {
    const auto silent = other->wait();
    EXPECT_EQ(silent.status, 0) << silent.errors;
    EXPECT_EQ(silent.output, "");
  }
  std::remove(store.c_str());
}

TEST(ExamplesTest, CustomLossPrintsWhatItSays) {
  const std::string promised = promised_by("examples/custom_loss.cc");
  ASSERT_NE(promised, "");
  const auto result = run_program({"examples/custom_loss"});
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, promised);
}

TEST(ExamplesTest, CustomMetricPrintsWhatItSays) {
  for (const char* name : {"custom_metric", "custom_rows_metric"}) {
    const std::string program = std::string("examples/") + name;
    const std::string promised = promised_by(program + ".cc");
    ASSERT_NE(promised, "");
    const auto result = run_program({program});
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_EQ(result.output, promised);
  }
}

TEST(ExamplesTest, RareClassesComparesBothLosses) {
  const auto result =
      run_program({"examples/rare_classes/rare_classes", "1", "5"});
  EXPECT_EQ(result.status, 0) << result.errors;
  int seed = 0;
  double together = -1, each = -1;
  const std::string& output = result.output;
  ASSERT_EQ(std::sscanf(output.c_str() + output.find('\n'), "%d %lf %lf", &seed,
                        &together, &each),
            3)
      << output;
  EXPECT_EQ(seed, 1);
  for (const double f1 : {together, each}) {
    EXPECT_GT(f1, 0);
    EXPECT_LT(f1, 1);
  }
}

}  // namespace
}  // namespace tally

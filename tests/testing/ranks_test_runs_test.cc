#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tally/tests/examples/program.h"

// RANKS_TEST under GoogleTest's flags and the environment of test runners.

namespace tally::testkit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char* const kProgram = "tests/testing/failing_ranks";

Program::Result run(std::vector<std::string> flags,
                    const std::vector<std::string>& environment = {}) {
  flags.insert(flags.begin(), kProgram);
  return run_program(flags, environment);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(RunsTest, TestsAreListedOncePerNumberOfRanks) {
  const auto result = run({"--gtest_list_tests"});
  EXPECT_THAT(result.output, HasSubstr("Passing.\n  waits/ranks2\n"));
}

TEST(RunsTest, RepeatAndShuffleGiveEachRunFreshRanks) {
  const auto result =
      run({"--gtest_filter=Passing.is_fine*", "--gtest_repeat=3",
           "--gtest_shuffle", "--gtest_random_seed=7"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(count(result.output, "[  PASSED  ] 1 test"), 3);
}

TEST(RunsTest, ShardsDivideTheTestsAndNotTheRanks) {
  int ran = 0;
  for (const char* shard : {"0", "1"}) {
    const auto result = run(
        {"--gtest_filter=Passing.*"},
        {"TEST_TOTAL_SHARDS=2", std::string("TEST_SHARD_INDEX=") + shard,
         "GTEST_TOTAL_SHARDS=2", std::string("GTEST_SHARD_INDEX=") + shard});
    EXPECT_EQ(result.status, 0) << result.output;
    ran += count(result.output, "[       OK ]");
  }
  EXPECT_EQ(ran, 5);
}

TEST(RunsTest, ThereIsOneReportWithTheFailuresOfAllRanks) {
  const std::string xml = ::testing::TempDir() + "/report.xml";
  run({"--gtest_filter=Failing.expectation*:Passing.is_fine*"},
      {"XML_OUTPUT_FILE=" + xml, "GTEST_OUTPUT=xml:" + xml});
  std::ifstream file(xml);
  const std::string report(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(report, HasSubstr("tests=\"2\" failures=\"1\""));
  EXPECT_THAT(report, HasSubstr("rank 2 of 3: Expected equality"));

  const std::string path = ::testing::TempDir() + "/report.json";
  run({"--gtest_filter=Failing.expectation*", "--gtest_output=json:" + path});
  std::ifstream json_file(path);
  const auto json = nlohmann::json::parse(json_file);
  EXPECT_EQ(json["tests"], 1);
  EXPECT_THAT(
      std::string(
          json["testsuites"][0]["testsuite"][0]["failures"][0]["failure"]),
      HasSubstr("rank 2 of 3"));
}

TEST(RunsTest, OtherFlagsOfGoogleTestDoNoHarm) {
  for (const char* flag :
       {"--gtest_catch_exceptions=0", "--gtest_fail_fast", "--gtest_brief=1",
        "--gtest_color=yes", "--gtest_also_run_disabled_tests",
        "--gtest_throw_on_failure"}) {
    EXPECT_EQ(run({"--gtest_filter=Passing.is_fine*", flag}).status, 0) << flag;
  }
  EXPECT_EQ(
      run({"--gtest_filter=Passing.is_fine*", "--an_unknown_flag"}).status, 0);
}

TEST(RunsTest, NoFilesAreLeft) {
  const std::string folder = ::testing::TempDir() + "/of_ranks";
  std::filesystem::create_directories(folder);
  const std::vector<std::string> environment = {"TEST_TMPDIR=" + folder};
  run({"--gtest_filter=Passing.is_fine*:Failing.segfault*"}, environment);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  // A folder that cannot be written is told.
  EXPECT_THAT(run({"--gtest_filter=Passing.is_fine*"},
                  {"TEST_TMPDIR=" + folder + "/none"})
                  .output,
              HasSubstr("cannot create a folder"));
}

}  // namespace
}  // namespace tally::testkit

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tally/tests/cli/files.h"
#include "tally/tests/examples/program.h"

namespace tally::cli {
namespace {

using tally::testkit::run_program;
using ::testing::HasSubstr;

TEST(TallyIdsTest, ResampleTheSameOnAnyRanks) {
  const Folder folder;
  std::string csv = "value,row\n";
  for (int i = 0; i < 50; ++i) {
    csv += std::to_string(i * i % 13) + "," + std::to_string(i) + "\n";
  }
  const std::string file = folder.write("x.csv", csv);
  const auto output = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "cli/tally", "evaluate",
        "-m",        "BootStrapper(metric=SumMetric(), raw=true)",
        "--csv",     file,
        "--columns", "value=value,ids=row",
        "--format",  "csv"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = run_program(words);
    EXPECT_EQ(result.status, 0) << result.errors;
    return result.output;
  };
  const std::string one = output({});
  EXPECT_THAT(one, HasSubstr("BootStrapper.raw,9,"));
  EXPECT_EQ(output({"--ranks", "3"}), one);
  EXPECT_EQ(output({"--split", "0,20,30", "--batch-size", "7"}), one);
}

}  // namespace
}  // namespace tally::cli

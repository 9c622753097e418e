#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

#include "tally/cli/evaluate.h"
#include "tally/sync/communicator.h"
#include "tally/tests/cli/files.h"

namespace tally::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(EvaluationProgressTest, RowsAreFollowedByWhatIsComputed) {
  const Folder folder;
  Arguments arguments;
  arguments.csv = {
      folder.write("x.csv", "preds,target\n0.1,0\n0.8,1\n0.4,1\n0.6,0\n")};
  arguments.metrics = "BinaryAccuracy; BinaryAUROC";
  arguments.batch_size = 2;
  Progress::Clock::time_point now;
  std::ostringstream out;
  Progress progress(&out, ProgressStyle::kTerminal, "rows",
                    [&] { return now += std::chrono::seconds(1); });
  evaluate(arguments, sync::single_process_communicator(), progress);
  for (const char* line : {"2 of 4 rows", "4 of 4 rows", "1 of 2 metrics",
                           "2 of 2 metrics (100%)"}) {
    EXPECT_THAT(out.str(), HasSubstr(line));
  }
  // Nothing of it stays.
  EXPECT_THAT(out.str(), EndsWith(Progress::kClear));
}

}  // namespace
}  // namespace tally::cli

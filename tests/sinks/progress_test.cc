#include "tally/sinks/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>

namespace tally {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;
using ::testing::IsEmpty;

TEST(ProgressTest, OverwritesALineOfATerminal) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  {
    Progress progress(&out, ProgressStyle::kTerminal, "rows",
                      [&] { return now; });
    now += milliseconds(999);
    progress.update(1, 300);
    EXPECT_THAT(out.str(), IsEmpty());
    now += milliseconds(1);
    progress.update(100, 300);
    EXPECT_EQ(out.str(), "\r\x1b[K100 of 300 rows (33%), 100 rows/s, 2 s left");
    now += milliseconds(199);
    progress.update(200, 300);
    EXPECT_THAT(out.str(), EndsWith("100 rows/s, 2 s left"));
    now += milliseconds(1);
    progress.update(300, 300);
    EXPECT_THAT(out.str(),
                EndsWith("300 of 300 rows (100%), 250 rows/s, 0 s left"));
  }
  EXPECT_THAT(out.str(), EndsWith("\r\x1b[K"));
}

TEST(ProgressTest, WritesLinesElsewhere) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  {
    Progress progress(&out, ProgressStyle::kLog, "epochs", [&] { return now; });
    now += seconds(29);
    progress.update(1, 100'000);
    EXPECT_THAT(out.str(), IsEmpty());
    now += seconds(1);
    progress.update(3, 100'000);
    now += seconds(20);
    progress.update(5, 100'000);
    now += seconds(10);
    progress.update(6000, 100'000);
    now += seconds(30);
    progress.update(0, 0);
  }
  EXPECT_EQ(out.str(),
            "3 of 100000 epochs (0%), 0.1 epochs/s, 277 h 47 min left\n"
            "6000 of 100000 epochs (6%), 100 epochs/s, 16 min left\n"
            "0 of 0 epochs\n");
}

TEST(ProgressTest, BeginsAnewWithAnotherUnit) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  Progress progress(&out, ProgressStyle::kTerminal, "rows",
                    [&] { return now; });
  now += seconds(10);
  progress.update(300, 300);
  progress.start("replicates");
  now += seconds(2);
  progress.update(20, 100);
  EXPECT_THAT(out.str(), EndsWith("\r\x1b[K20 of 100 replicates (20%), "
                                  "10 replicates/s, 8 s left"));
}

TEST(ProgressTest, IsNotShownToThoseWhoNeedNotWait) {
  Progress::Clock::time_point now;
  std::ostringstream quick;
  Progress(&quick, ProgressStyle::kTerminal, "rows", [&] {
    return now;
  }).update(1, 1);
  EXPECT_THAT(quick.str(), IsEmpty());
  Progress nobody(nullptr, ProgressStyle::kTerminal, "rows",
                  [&] { return now; });
  now += seconds(50);
  nobody.update(1, 2);
  Progress::on_stderr("rows", /*shows=*/false).update(1, 2);
}

TEST(ProgressTest, ShowsMeansAndValues) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  Progress progress(&out, ProgressStyle::kLog, "batches", [&] { return now; });
  progress.set("lr", 0.00001);
  progress.add_mean("loss", 1);
  progress.add_mean("loss", 0.5);
  now += seconds(30);
  progress.update(30, 60);
  progress.set("lr", 0.1);
  progress.start("batches");
  progress.add_mean("loss", std::nan(""));
  progress.add_mean("loss", 2);
  now += seconds(30);
  progress.update(30, 60);
  EXPECT_EQ(out.str(),
            "30 of 60 batches (50%), 1.0 batches/s, 30 s left, lr 1e-05, loss "
            "0.75\n"
            "30 of 60 batches (50%), 1.0 batches/s, 30 s left, lr 0.1, loss "
            "nan\n");
}

TEST(ProgressTest, AValueMayBecomeAMeanAndBack) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  Progress progress(&out, ProgressStyle::kLog, "rows", [&] { return now; });
  progress.set("x", 7);
  progress.add_mean("x", 3);
  now += seconds(30);
  progress.update(0, 2);
  progress.set("x", 5);
  now += seconds(30);
  progress.update(0, 2);
  EXPECT_EQ(out.str(), "0 of 2 rows (0%), x 3\n0 of 2 rows (0%), x 5\n");
}

TEST(ProgressTest, CountsBatchesOfEpochs) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  Progress progress(&out, ProgressStyle::kLog, "batches", [&] { return now; });
  progress.start_outer("epoch", 1, 3);
  now += seconds(30);
  progress.update(10, 20);  // half of an epoch: five more halves
  now += seconds(30);
  progress.start_outer("epoch", 2, 3);
  now += seconds(30);
  progress.update(5, 20);  // 90 s for 1.25 epochs
  EXPECT_EQ(out.str(),
            "epoch 1 of 3: 10 of 20 batches (50%), 0.3 batches/s, 30 s left "
            "(3 min in all)\n"
            "epoch 2 of 3: 5 of 20 batches (25%), 0.2 batches/s, 90 s left (3 "
            "min in all)\n");
}

TEST(ProgressTest, ARunThatResumesCountsItsOwnEpochs) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  Progress progress(&out, ProgressStyle::kLog, "batches", [&] { return now; });
  progress.start_outer("epoch", 8, 9);
  now += seconds(30);
  progress.update(10, 20);
  EXPECT_THAT(out.str(), EndsWith("30 s left (90 s in all)\n"));
}

TEST(ProgressTest, CoversTheLineOfANotebookWithSpaces) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  {
    Progress progress(&out, ProgressStyle::kNotebook, "rows",
                      [&] { return now; });
    now += seconds(1);
    progress.update(0, 3000);
    EXPECT_EQ(out.str(), "\r0 of 3000 rows (0%)");
    now += seconds(1);
    progress.update(0, 3);
    EXPECT_THAT(out.str(), EndsWith("\r0 of 3 rows (0%)   "));
  }
  EXPECT_THAT(out.str(), EndsWith("\r" + std::string(16, ' ') + "\r"));
}

TEST(ProgressTest, ShowsMemory) {
  Progress::Clock::time_point now;
  std::ostringstream out;
  Progress progress(&out, ProgressStyle::kLog, "rows", [&] { return now; });
  progress.show_memory();
  now += seconds(30);
  progress.update(0, 3);
  EXPECT_THAT(out.str(),
              ::testing::MatchesRegex("0 of 3 rows .0%., [0-9.]+ (MB|GB)\n"));
}

TEST(ProgressTest, KnowsANotebookByItsKernel) {
  if (Progress::is_on_terminal()) {
    EXPECT_EQ(Progress::style_of_stderr(), ProgressStyle::kTerminal);
    return;
  }
  unsetenv("JPY_PARENT_PID");
  EXPECT_EQ(Progress::style_of_stderr(), ProgressStyle::kLog);
  setenv("JPY_PARENT_PID", "17", /*replace=*/1);
  EXPECT_EQ(Progress::style_of_stderr(), ProgressStyle::kNotebook);
  unsetenv("JPY_PARENT_PID");
}

}  // namespace
}  // namespace tally

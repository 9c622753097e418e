#include "tally/sinks/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

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
    Progress progress(&out, /*is_terminal=*/true, "rows", [&] { return now; });
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
    Progress progress(&out, /*is_terminal=*/false, "epochs",
                      [&] { return now; });
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
  Progress progress(&out, /*is_terminal=*/true, "rows", [&] { return now; });
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
  Progress(&quick, true, "rows", [&] { return now; }).update(1, 1);
  EXPECT_THAT(quick.str(), IsEmpty());
  Progress nobody(nullptr, true, "rows", [&] { return now; });
  now += seconds(50);
  nobody.update(1, 2);
  Progress::on_stderr("rows", /*shows=*/false).update(1, 2);
}

}  // namespace
}  // namespace tally

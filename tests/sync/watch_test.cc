#include "tally/sync/transport/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <new>

#include "tally/tests/testing/deadlines.h"

namespace tally::sync::internal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::tally::testkit::kLongTimeout;

// A wait that lasts until it has been looked at so many times.
void wait_for_looks(Watch& watch, int count) {
  std::promise<void> enough;
  int looks = 0;
  const Watch::Wait wait(watch, [&] {
    if (++looks == count) enough.set_value();
  });
  ASSERT_EQ(enough.get_future().wait_for(kLongTimeout),
            std::future_status::ready);
}

TEST(WatchTest, LooksAgainAndAgainAfterAWaitThatTakesLong) {
  Watch watch(milliseconds(1), milliseconds(2));
  wait_for_looks(watch, 4);
  // Whether its thread has gone to rest by then or not.
  wait_for_looks(watch, 2);
}

TEST(WatchTest, LooksAgainAfterALookThatThrew) {
  Watch watch(milliseconds(1), milliseconds(2));
  std::promise<void> looked;
  int looks = 0;
  const Watch::Wait wait(watch, [&] {
    if (++looks == 1) throw std::bad_alloc();
    if (looks == 2) looked.set_value();
  });
  ASSERT_EQ(looked.get_future().wait_for(kLongTimeout),
            std::future_status::ready);
}

TEST(WatchTest, LooksAtNoShortWaitAndKeepsNobody) {
  std::atomic<int> looks{0};
  {
    Watch watch(hours(1), hours(1));
    for (int i = 0; i < 1000; ++i) {
      const Watch::Wait wait(watch, [&] { ++looks; });
    }
  }
  EXPECT_EQ(looks, 0);
}

}  // namespace
}  // namespace tally::sync::internal

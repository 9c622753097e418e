#include "tally/training/throughput_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

#include "tally/sync/communicator.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally::training {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testkit::refusal_of;

double number(const at::Tensor& value) { return value.item<double>(); }

TEST(ThroughputTimerTest, MeasuresScopesAfterTheWarmup) {
  ThroughputTimer::Clock::time_point now;
  Throughput throughput;
  ThroughputTimer timer(throughput, /*warmup=*/2, [&] { return now; });
  for (const int time : {9000, 8000, 500, 250}) {
    const auto scope = timer.measure(30);
    now += milliseconds(time);
  }
  now += milliseconds(7000);  // of no batch
  EXPECT_EQ(throughput.update_count(), 2);
  EXPECT_EQ(number(throughput.compute().items_per_second), 80);
  throughput.reset();
  {
    const auto scope = timer.measure(10);
    now += milliseconds(500);
  }
  EXPECT_EQ(number(throughput.compute().items_per_second), 20);
}

TEST(ThroughputTimerTest, LeavesOutScopesThatFail) {
  ThroughputTimer::Clock::time_point now;
  Throughput throughput;
  ThroughputTimer timer(throughput, 0, [&] { return now; });
  try {
    const auto scope = timer.measure(30);
    now += milliseconds(500);
    throw std::runtime_error("out of memory");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(throughput.update_count(), 0);
}

TEST(ThroughputTimerTest, KnowsTheRank) {
  for (const int ranks : {1, 2, 3}) {
    testkit::run_thread_ranks(ranks, [&](const auto& communicator) {
      ThroughputTimer::Clock::time_point now;
      Throughput throughput;
      ThroughputTimer timer(throughput, 0, [&] { return now; });
      for (int i = 0; i < 2; ++i) {
        const auto scope = timer.measure(12);
        now += milliseconds(500 * (communicator->rank() + 1));
      }
      const ItemRate rate = throughput.compute();
      EXPECT_EQ(number(rate.items), 24 * ranks);
      EXPECT_EQ(number(rate.seconds), ranks);
      EXPECT_EQ(number(rate.items_per_second), 24);
    });
  }
}

TEST(ThroughputTimerTest, RefusesWhatIsNoAmount) {
  Throughput throughput;
  EXPECT_THAT(refusal_of([&] { ThroughputTimer(throughput, -1); }),
              HasSubstr("expected warmup to be at least 0, got -1"));
  ThroughputTimer timer(throughput);
  EXPECT_THAT(refusal_of([&] { auto scope = timer.measure(-3); }),
              HasSubstr("expected items to be finite and at least 0, got -3"));
  EXPECT_EQ(throughput.update_count(), 0);
}

}  // namespace
}  // namespace tally::training

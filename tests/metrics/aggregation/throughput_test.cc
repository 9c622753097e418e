#include "tally/metrics/aggregation/throughput.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;

double number(const at::Tensor& value) { return value.item<double>(); }

TEST(ThroughputTest, PassesTheHarness) {
  testkit::check_metric<Throughput>("Throughput");
}

TEST(ThroughputTest, DividesAllItemsByTheSlowestRanksTime) {
  Throughput throughput;
  throughput.update(30, 1.0, 0);
  throughput.update(30, 1.5, 0);
  throughput.update(40, 2.0, 1);
  const ItemRate rate = throughput.compute();
  EXPECT_EQ(number(rate.items_per_second), 40);
  EXPECT_EQ(number(rate.seconds_per_item), 0.025);
  EXPECT_EQ(number(rate.items), 100);
  EXPECT_EQ(number(rate.seconds), 2.5);
}

TEST(ThroughputTest, HasNoRatesWithoutItemsAndTime) {
  Throughput throughput;
  ItemRate rate = throughput.compute();
  EXPECT_TRUE(std::isnan(number(rate.items_per_second)));
  EXPECT_TRUE(std::isnan(number(rate.seconds_per_item)));
  EXPECT_EQ(number(rate.items), 0);
  EXPECT_EQ(number(rate.seconds), 0);
  throughput.update(0, 2.0, 0);
  rate = throughput.compute();
  EXPECT_EQ(number(rate.items_per_second), 0);
  EXPECT_EQ(number(rate.seconds_per_item),
            std::numeric_limits<double>::infinity());
}

TEST(ThroughputTest, KeepsARowForEachRank) {
  Throughput throughput;
  for (std::int64_t i = 0; i < 300; ++i) throughput.update(1, 0.5, i % 3);
  for (const auto& [name, field] : throughput.state()) {
    EXPECT_EQ(field.size(0), 3) << name;
  }
  EXPECT_EQ(number(throughput.compute().items_per_second), 6);
}

TEST(ThroughputTest, HasNoInterval) {
  EXPECT_THAT(Throughput().sampling().refusal,
              HasSubstr("the time of the slowest rank is an extreme"));
}

TEST(ThroughputTest, RefusesWhatIsNoAmount) {
  Throughput throughput;
  EXPECT_THAT(refusal_of([&] { throughput.update(-1, 1.0, 0); }),
              HasSubstr("expected items to be finite and at least 0, got -1 at "
                        "position 0"));
  EXPECT_THAT(refusal_of([&] {
                throughput.update(at::tensor({1, 1}),
                                  at::tensor({1.0, std::nan("")}),
                                  at::tensor({0, 0}));
              }),
              HasSubstr("expected seconds to be finite and at least 0, got nan "
                        "at position 1"));
  EXPECT_THAT(refusal_of([&] { throughput.update(1, 1.0, -2); }),
              HasSubstr("expected rank to be at least 0, got -2"));
  EXPECT_THAT(
      refusal_of([&] {
        throughput.update(at::tensor({1, 1}), at::tensor({1.0, 1.0}), 0);
      }),
      HasSubstr("rank"));
  EXPECT_EQ(throughput.update_count(), 0);
}

}  // namespace
}  // namespace tally

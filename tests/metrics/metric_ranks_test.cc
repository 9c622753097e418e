#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tally/metrics/metric.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::run_thread_ranks;
using testkit::SampleCat;
using testkit::SampleStrictSum;
using testkit::SampleTensorSum;

at::Tensor row(double a, double b) {
  at::Tensor tensor = at::full({2}, a, at::kDouble);
  tensor.select(0, 1).fill_(b);
  return tensor;
}

double value_of(const at::Tensor& tensor) { return tensor.item<double>(); }

THREAD_RANKS_TEST(MetricRanksTest, RanksAgreeWhetherACachedValueWillDo, 3) {
  const int rank = self.rank();
  SampleTensorSum metric;
  metric.update(row(rank, 1));
  const at::Tensor first = metric.compute();
  EXPECT_TRUE(first.equal(row(3, 3)));
  const auto calls = self.group()->collectives();
  EXPECT_TRUE(metric.compute().equal(first));
  EXPECT_EQ(self.group()->collectives(), calls + 1);
  if (rank == 1) metric.update(row(10, 0));
  EXPECT_TRUE(metric.compute().equal(row(13, 3)));
}

THREAD_RANKS_TEST(MetricRanksTest, ACachedValueIsOfTheRanksItWasComputedFor,
                  2) {
  SampleTensorSum metric;
  metric.update(row(self.rank(), 1));
  EXPECT_TRUE(metric.compute().equal(row(1, 2)));
  {
    const sync::CommunicatorGuard alone(sync::single_process_communicator());
    EXPECT_TRUE(metric.compute().equal(row(self.rank(), 1)));
  }
  EXPECT_TRUE(metric.compute().equal(row(1, 2)));
}

THREAD_RANKS_TEST(MetricRanksTest, SyncHoldsUntilUnsync, 3) {
  const int rank = self.rank();
  SampleCat metric;
  if (rank != 1) metric.update(row(rank, rank));
  const std::string before = metric.serialize();
  metric.sync();
  EXPECT_EQ(metric.update_count(), 2);
  const auto calls = self.group()->collectives();
  const at::Tensor expected = at::arange(4).div(2, "floor").mul(2);
  EXPECT_TRUE(metric.compute().equal(expected.to(at::kDouble)));
  EXPECT_EQ(metric.state().at("rows").size(0), 4);
  EXPECT_EQ(self.group()->collectives(), calls);
  EXPECT_EQ(metric.serialize(), before) << "saves this rank's own state";
  const auto clone = metric.clone();
  metric.unsync();
  EXPECT_TRUE(clone->is_synced());
  EXPECT_EQ(metric.serialize(), before);
  EXPECT_EQ(metric.update_count(), rank == 1 ? 0 : 1);
  metric.update(row(7, 7));
  EXPECT_EQ(metric.compute().size(0), 10);
}

THREAD_RANKS_TEST(MetricRanksTest, AScopeEndsTheSyncEvenWhenItThrows, 2) {
  SampleTensorSum metric;
  metric.update(row(1, 2));
  try {
    const SyncScope scope(metric);
    EXPECT_TRUE(metric.compute().equal(row(2, 4)));
    throw std::runtime_error("of the user");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(metric.status(), MetricStatus::kUpdated);
  const SyncScope scope(metric);
  metric.unsync();
}

THREAD_RANKS_TEST(MetricRanksTest, SyncOnComputeCanBeTurnedOff, 2) {
  SampleTensorSum metric(NoOptions(), MetricOptions().sync_on_compute(false));
  metric.update(row(self.rank(), 1));
  EXPECT_TRUE(metric.compute().equal(row(self.rank(), 1)));
  EXPECT_EQ(self.group()->collectives(), 0);
  metric.sync();
  EXPECT_TRUE(metric.compute().equal(row(1, 2)));
}

THREAD_RANKS_TEST(MetricRanksTest, OneRankComputesItsOwnValueAlone, 2) {
  SampleTensorSum metric;
  metric.update(row(self.rank(), 1));
  EXPECT_TRUE(metric.compute().equal(row(1, 2)));
  const auto calls = self.group()->collectives();
  if (self.rank() == 1) {
    EXPECT_TRUE(metric.compute_local().equal(row(1, 1)));
    EXPECT_TRUE(
        static_cast<Metric&>(metric).compute_local().value().equal(row(1, 1)));
  }
  EXPECT_EQ(self.group()->collectives(), calls);
  EXPECT_TRUE(metric.metric_options().sync_on_compute());
  EXPECT_TRUE(metric.compute().equal(row(1, 2)));
  metric.sync();
  EXPECT_THROW(metric.compute_local(), c10::Error);
}

THREAD_RANKS_TEST(MetricRanksTest, UsesTheCommunicatorItIsGiven, 2) {
  SampleTensorSum alone(NoOptions(), MetricOptions().communicator(
                                         sync::single_process_communicator()));
  alone.update(row(1, 1));
  EXPECT_TRUE(alone.compute().equal(row(1, 1)));
  const sync::CommunicatorGuard guard(sync::single_process_communicator());
  SampleTensorSum together(NoOptions(),
                           MetricOptions().communicator(self.group()));
  together.update(row(1, 1));
  EXPECT_TRUE(together.compute().equal(row(2, 2)));
}

TEST(MetricRanksTest, ARankWhoseForwardFailsStopsTheOthersAtOnce) {
  for (const bool erased : {false, true}) {
    run_thread_ranks(3, [&](const auto& communicator) {
      SampleStrictSum metric(NoOptions(),
                             MetricOptions().dist_sync_on_step(true));
      metric.update(row(1, 1));
      const std::string before = metric.serialize();
      const at::Tensor batch =
          communicator->rank() == 1 ? row(1, 101) : row(1, 2);
      const auto forward = [&] {
        return erased ? metric.forward_results(batch).at("")
                      : metric.forward(batch);
      };
      if (communicator->rank() == 1) {
        EXPECT_THROW(forward(), c10::ValueError);
      } else {
        try {
          forward();
          ADD_FAILURE() << "rank 1 failed unnoticed";
        } catch (const sync::SyncError& error) {
          EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
          EXPECT_EQ(error.details().peers, std::vector<int>{1});
          EXPECT_THAT(error.message(), HasSubstr("expected values up to 100"));
        }
      }
      EXPECT_EQ(metric.serialize(), before);
      EXPECT_EQ(value_of(metric.forward(row(1, 2))), 9);
      EXPECT_EQ(value_of(metric.compute()), 15);
    });
  }
}

THREAD_RANKS_TEST(MetricRanksTest, ForwardWhileSyncedStopsTheOthersAtOnce, 2) {
  SampleTensorSum metric(NoOptions(), MetricOptions().dist_sync_on_step(true));
  metric.sync();
  if (self.rank() == 1) {
    EXPECT_THROW(metric.forward(row(1, 2)), c10::Error);
    metric.unsync();
  } else {
    metric.unsync();
    try {
      metric.forward(row(1, 2));
      ADD_FAILURE() << "rank 1 failed unnoticed";
    } catch (const sync::SyncError& error) {
      EXPECT_EQ(error.code(), sync::SyncErrorCode::kPeerFailed);
      EXPECT_THAT(error.message(), HasSubstr("not possible while synced"));
    }
  }
  EXPECT_TRUE(metric.forward(row(1, 2)).equal(row(2, 4)));
}

THREAD_RANKS_TEST(MetricRanksTest, OtherShapesOnOtherRanksAreRefusedOnAll, 3) {
  const bool odd = self.rank() == 2;
  SampleTensorSum metric(NoOptions(), MetricOptions().dist_sync_on_step(true));
  const at::Tensor batch = odd ? at::ones({3, 2}) : at::ones({2, 3});
  for (const bool step : {true, false}) {
    if (!step) metric.update(batch);
    const std::string before = metric.serialize();
    try {
      step ? metric.forward(batch) : metric.compute();
      ADD_FAILURE() << "shapes were merged";
    } catch (const sync::SyncError& error) {
      EXPECT_EQ(error.code(), sync::SyncErrorCode::kMismatch);
      EXPECT_EQ(error.details().peers, std::vector<int>{2});
      EXPECT_EQ(error.details().metric, "SampleTensorSum");
      EXPECT_THAT(error.message(), HasSubstr("state 'sum'"));
    }
    EXPECT_EQ(metric.serialize(), before);
  }
  metric.reset();
  metric.update(at::ones({2, 3}));
  EXPECT_TRUE(metric.compute().equal(at::full({2, 3}, 3)));
}

}  // namespace
}  // namespace tally

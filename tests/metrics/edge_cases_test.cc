#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <thread>

#include "tally/metrics/aggregation/cat_metric.h"
#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/aggregation/sum_metric.h"
#include "tally/sync/errors.h"
#include "tally/testing/faulty_communicator.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

// What ranks may do that is unusual, and what they must not.

namespace tally {
namespace {

using sync::GradientFlow;
using sync::SyncErrorCode;
using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using testkit::FaultyCommunicator;
using testkit::run_thread_ranks;
using testkit::SampleCat;
using testkit::SampleMeanSquaredError;
using testkit::SampleStrictSum;
using testkit::SampleTensorSum;

at::Tensor number(double value) { return at::full({2}, value, at::kDouble); }

// --- nothing on some or all ranks

THREAD_RANKS_TEST(EdgeCasesTest, RowsOfEmptyRanks, 2, 3, 5) {
  const int ranks = self.size();
  CatMetric none;
  EXPECT_EQ(none.compute().numel(), 0);
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kLong}) {
    for (const std::vector<std::int64_t>& row :
         {std::vector<std::int64_t>{}, std::vector<std::int64_t>{3}}) {
      const auto rows = [&](std::int64_t count) {
        std::vector<std::int64_t> sizes = {count};
        sizes.insert(sizes.end(), row.begin(), row.end());
        return at::full(sizes, self.rank(), dtype);
      };
      SampleCat all_empty;
      all_empty.update(rows(0));
      EXPECT_EQ(all_empty.compute().sizes(), rows(0).sizes());
      EXPECT_EQ(all_empty.compute().scalar_type(), dtype);

      for (const bool updates : {false, true}) {
        SampleCat one_empty;
        const bool idle = self.rank() == 0;
        if (!idle || updates) one_empty.update(rows(idle ? 0 : 2));
        const at::Tensor value = one_empty.compute();
        EXPECT_EQ(value.sizes(), rows(2 * (ranks - 1)).sizes());
        EXPECT_EQ(value.scalar_type(), dtype);
        EXPECT_EQ(value.flatten()[0].item<double>(), 1);
      }
    }
  }
}

THREAD_RANKS_TEST(EdgeCasesTest, GradientsOfEmptyRanks, 2, 3, 5) {
  for (const GradientFlow flow :
       {GradientFlow::kDetached, GradientFlow::kLocal,
        GradientFlow::kReplicated, GradientFlow::kAllRanks}) {
    for (const bool all : {false, true}) {
      const int ranks = self.size();
      const bool idle = all || self.rank() == ranks - 1;
      const std::int64_t count = idle ? 0 : 2;
      const MetricOptions options =
          MetricOptions().dist_sync_on_step(true).gradient_flow(flow);
      SampleCat metric(NoOptions(), options);
      const at::Tensor x = at::ones({count, 3}, at::kDouble).requires_grad_();
      const at::Tensor value = metric.forward(x);
      EXPECT_EQ(value.size(0), all ? 0 : 2 * (ranks - 1));
      EXPECT_EQ(metric.compute().sizes(), value.sizes());
      if (flow == GradientFlow::kDetached) {
        EXPECT_FALSE(value.requires_grad());
        continue;
      }
      value.sum().backward();
      const double factor = flow == GradientFlow::kLocal ? 1 : ranks;
      EXPECT_TRUE(x.grad().equal(at::full({count, 3}, factor, at::kDouble)));
    }
  }
}

THREAD_RANKS_TEST(EdgeCasesTest, ARankThatResetCountsAsEmpty, 2, 3, 5) {
  SampleMeanSquaredError metric;
  metric.update(number(self.rank()), number(5));
  if (self.rank() == 0) metric.reset();
  double expected = 0;
  for (int r = 1; r < self.size(); ++r) {
    expected += (r - 5) * (r - 5);
  }
  EXPECT_EQ(metric.compute().item<double>(), expected / (self.size() - 1));
  metric.sync();
  EXPECT_EQ(metric.update_count(), self.size() - 1);
  metric.unsync();
  EXPECT_EQ(metric.update_count(), self.rank() == 0 ? 0 : 1);
}

THREAD_RANKS_TEST(EdgeCasesTest, FewerSamplesThanRanks, 2, 3, 5) {
  SampleMeanSquaredError metric;
  const std::int64_t count = self.rank() == 0 ? 1 : 0;
  metric.update(at::full({count}, 3.0), at::full({count}, 1.0));
  EXPECT_EQ(metric.compute().item<double>(), 4);
}

// --- errors of one rank

THREAD_RANKS_TEST(EdgeCasesTest, AnUpdateThatThrowsOnOneRankLeavesItsSyncWhole,
                  2, 3, 5) {
  SampleStrictSum metric;
  metric.update(number(1));
  const bool bad = self.rank() == 0;
  if (bad) {
    EXPECT_THROW(metric.update(number(101)), c10::ValueError);
  } else {
    metric.update(number(10));
  }
  EXPECT_EQ(metric.compute().item<double>(),
            2 * self.size() + 20 * (self.size() - 1));
}

THREAD_RANKS_TEST(EdgeCasesTest, AComputeThatThrowsInASyncScopeCanBeRepeated, 2,
                  3, 5) {
  SampleStrictSum metric;
  metric.update(number(-1));
  const std::string before = metric.serialize();
  const auto compute_in_scope = [&] {
    const SyncScope scope(metric);
    return metric.compute();
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(refusal_of<std::exception>(compute_in_scope),
                HasSubstr("no value below 0"));
    EXPECT_THAT(refusal_of<std::exception>([&] { metric.compute(); }),
                HasSubstr("no value below 0"));
    EXPECT_EQ(metric.status(), MetricStatus::kUpdated);
    EXPECT_EQ(metric.serialize(), before);
  }
  metric.update(number(3));
  EXPECT_EQ(compute_in_scope().item<double>(), 4 * self.size());
}

// --- calls within, beside and after other calls

THREAD_RANKS_TEST(EdgeCasesTest, MisuseIsAnErrorThatOthersInACollectiveHearOf,
                  2, 3, 5) {
  SampleTensorSum metric;
  metric.update(number(1));
  EXPECT_THAT(refusal_of<std::exception>([&] { metric.unsync(); }),
              HasSubstr("unsync() without sync()"));
  EXPECT_EQ(self.group()->collectives(), 0);
  metric.sync();
  auto calls = self.group()->collectives();
  EXPECT_THAT(refusal_of<std::exception>([&] { metric.sync(); }),
              HasSubstr("sync() was called twice"));
  EXPECT_EQ(self.group()->collectives(), ++calls);
  EXPECT_THAT(refusal_of<std::exception>([&] { metric.forward(number(1)); }),
              HasSubstr("call unsync() first"));
  EXPECT_EQ(self.group()->collectives(), calls);
  EXPECT_TRUE(metric.compute().equal(number(self.size())));
  metric.unsync();
  EXPECT_THROW(metric.unsync(), c10::Error);
  EXPECT_EQ(self.group()->collectives(), calls);
}

THREAD_RANKS_TEST(EdgeCasesTest, HooksOfABackwardPassMaySync, 2, 3, 5) {
  for (const GradientFlow flow :
       {GradientFlow::kReplicated, GradientFlow::kAllRanks}) {
    SampleTensorSum metric(
        NoOptions(),
        MetricOptions().dist_sync_on_step(true).gradient_flow(flow));
    SampleCat seen;
    const at::Tensor x = number(1).requires_grad_();
    const at::Tensor loss = metric.forward(x).sum();
    int calls = 0;
    x.register_hook([&](const at::Tensor& gradient) {
      ++calls;
      seen.update(gradient);
      EXPECT_EQ(seen.compute().size(0), 2 * self.size());
      EXPECT_TRUE(metric.compute().equal(number(self.size())));
      loss.backward();
      EXPECT_EQ(calls, 1);
      EXPECT_TRUE(x.grad().equal(number(self.size())));
    });
  }
}

// An extra call cannot be told from the others' next call for the same metric:
// the value is then that of what every rank holds in this call.
THREAD_RANKS_TEST(EdgeCasesTest, OneCallMoreForTheSameMetricGivesOneValueToAll,
                  2, 3, 5) {
  SampleTensorSum metric;
  metric.update(number(1));
  const int ranks = self.size();
  EXPECT_TRUE(metric.compute().equal(number(ranks)));
  const bool drifts = self.rank() == ranks - 1;
  if (!drifts) metric.update(number(1));
  EXPECT_TRUE(metric.compute().equal(number(2 * ranks - 1)));
  if (!drifts) return;
  metric.update(number(1));
  const std::string before = metric.serialize();
  EXPECT_SYNC_ERROR(metric.compute(), SyncErrorCode::kPeerLost);
  EXPECT_EQ(metric.serialize(), before);
}

THREAD_RANKS_TEST(EdgeCasesOfThreadsTest,
                  TwoMetricsOfOneGroupDoNotMixTheirSyncs, 2) {
  std::promise<void> inside;
  std::promise<void> leave;
  const auto shared = std::make_shared<FaultyCommunicator>(
      self.group(), [&](std::int64_t call) {
        if (call != 0) return;
        inside.set_value();
        leave.get_future().wait();
      });
  const MetricOptions options = MetricOptions().communicator(shared);
  SampleTensorSum first(NoOptions(), options);
  SampleTensorSum second(NoOptions(), options);
  first.update(number(1));
  second.update(number(10));
  at::Tensor value;
  std::thread thread([&] { value = first.compute(); });
  inside.get_future().wait();
  try {
    second.compute();
    ADD_FAILURE() << "two threads in one group";
  } catch (const sync::SyncError& error) {
    EXPECT_EQ(error.code(), SyncErrorCode::kInvalidUse);
  }
  leave.set_value();
  thread.join();
  EXPECT_TRUE(value.equal(number(2)));
  EXPECT_TRUE(second.compute().equal(number(20)));
}

TEST(EdgeCasesTest, AMetricKeepsTheGroupThatItWasGiven) {
  run_thread_ranks(3, [](auto communicator) {
    const int ranks = communicator->size();
    SampleTensorSum metric(NoOptions(),
                           MetricOptions().communicator(communicator));
    communicator.reset();
    const sync::CommunicatorGuard alone(sync::single_process_communicator());
    metric.update(number(1));
    EXPECT_TRUE(metric.compute().equal(number(ranks)));
  });
}

// --- backward passes

THREAD_RANKS_TEST(EdgeCasesTest, ASecondBackwardPassNeedsTheGraphOnEveryRank, 2,
                  3, 5) {
  for (const GradientFlow flow :
       {GradientFlow::kLocal, GradientFlow::kReplicated,
        GradientFlow::kAllRanks}) {
    SampleMeanSquaredError metric(
        NoOptions(),
        MetricOptions().dist_sync_on_step(true).gradient_flow(flow));
    const at::Tensor x = number(self.rank()).requires_grad_();
    const at::Tensor loss = metric.forward(x, number(5)).square();
    loss.backward({}, /*retain_graph=*/true);
    const at::Tensor once = x.grad().clone();
    loss.backward();
    EXPECT_TRUE(x.grad().equal(once.mul(2)));
    EXPECT_THAT(refusal_of<std::exception>([&] { loss.backward(); }),
                HasSubstr("backward through the graph a second time"));
    EXPECT_TRUE(x.grad().equal(once.mul(2)));
    EXPECT_EQ(self.group()->broken_reason(), "");
    SampleTensorSum other;
    other.update(number(1));
    EXPECT_TRUE(other.compute().equal(number(self.size())));
  }
}

// --- large numbers

struct Counts {
  static constexpr const char* kName = "Counts";
  struct State {
    std::int64_t number = 0;
    at::Tensor few, many;
    void fields(Fields& f) { f("number", number)("few", few)("many", many); }
  };
  State observe(const at::Tensor& count) const {
    return {count.item<std::int64_t>(), count.expand({2}).clone(),
            count.expand({200'000}).clone()};
  }
};
struct CountsMetric final : MetricOf<CountsMetric, Counts, at::Tensor> {
  static constexpr const char* kName = "CountsMetric";
  at::Tensor evaluate(const State& s) const {
    return at::full({1}, s.number, at::kLong);
  }
};

THREAD_RANKS_TEST(EdgeCasesTest, CountersAreExactToTheirLastBit, 2, 3, 5) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t ranks = self.size();
  // Of the numbers that add up to `total`, rank 0 has what is left over.
  for (const std::int64_t total :
       {(std::int64_t{1} << 53) + 1, kMost - 1, kMost}) {
    const std::int64_t part = total / ranks;
    const std::int64_t own =
        self.rank() == 0 ? total - part * (ranks - 1) : part;
    CountsMetric metric;
    metric.update(at::full({}, own - 1, at::kLong));
    metric.update(at::full({}, 1, at::kLong));
    metric.sync();
    EXPECT_EQ(metric.compute().item<std::int64_t>(), total);
    const Results state = metric.state();
    EXPECT_EQ(state.at("few")[1].item<std::int64_t>(), total);
    EXPECT_EQ(state.at("many")[199'999].item<std::int64_t>(), total);
    metric.unsync();
    CountsMetric loaded;
    ASSERT_TRUE(loaded.deserialize(metric.serialize()).ok());
    EXPECT_EQ(loaded.compute().item<std::int64_t>(), total);
  }
}

THREAD_RANKS_TEST(EdgeCasesTest, HalfPrecisionIsAddedUpInDoublePrecision, 2, 3,
                  5) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const at::Tensor items = at::full({1'000'000}, 0.1, dtype);
    const double each = items[0].item<double>();
    SumMetric sum;
    sum.update(items);
    EXPECT_NEAR(sum.compute().item<double>(), 1e6 * self.size() * each,
                1e-3 * each);
    MeanMetric mean;
    mean.update(items);
    EXPECT_NEAR(mean.compute().item<double>(), each, 1e-9 * each);
  }
}

}  // namespace
}  // namespace tally

// Ranks that are in different calls of one metric, or bring different metrics
// of one kind to the same call; and those that differ as they may.

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/testing/expect_sync_error.h"
#include "tally/testing/ranks_test.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using sync::GradientFlow;
using sync::SyncError;
using sync::SyncErrorCode;
using ::testing::HasSubstr;
using testkit::run_thread_ranks;
using testkit::SampleMeanSquaredError;
using testkit::SampleTensorSum;

at::Tensor number(double value) { return at::full({}, value, at::kDouble); }

double value_of(const at::Tensor& tensor) { return tensor.item<double>(); }

SampleTensorSum stepping(GradientFlow flow = GradientFlow::kLocal) {
  return SampleTensorSum(
      NoOptions(), MetricOptions().dist_sync_on_step(true).gradient_flow(flow));
}

std::string mismatch_of(const std::function<void()>& call) {
  const SyncError error = testkit::sync_error_of(call).value();
  EXPECT_EQ(error.code(), SyncErrorCode::kMismatch);
  return error.message();
}

// One rank has a batch more than the other.
THREAD_RANKS_TEST(CallDifferencesTest,
                  ForwardOnOneRankDoesNotMeetComputeOnAnother, 2) {
  const int rank = self.rank();
  SampleTensorSum metric = stepping();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value_of(metric.forward(number(1))), 2);
  }
  const std::string before = metric.serialize();
  EXPECT_EQ(mismatch_of([&] {
              rank == 0 ? metric.compute() : metric.forward(number(1));
            }),
            "the ranks are in different calls: rank 0: compute() of "
            "SampleTensorSum after 3 updates, rank 1: forward() of "
            "SampleTensorSum with gradient flow kLocal after 3 updates; to "
            "evaluate on one rank only, use MetricOptions()."
            "sync_on_compute(false), or a CommunicatorGuard with "
            "single_process_communicator(); a rank that runs out of batches "
            "before the others takes part in their steps by training::join");
  EXPECT_EQ(metric.serialize(), before);
  if (rank == 1) metric.update(number(1));
  EXPECT_EQ(value_of(metric.compute()), 7);
  metric.reset();
  EXPECT_EQ(value_of(metric.forward(number(1))), 2);
}

THREAD_RANKS_TEST(CallDifferencesTest, EveryPairOfCallsIsAMismatch, 2) {
  const int rank = self.rank();
  SampleTensorSum metric = stepping();
  const std::vector<std::function<void()>> calls = {
      [&] { metric.forward(number(1)); },
      [&] { metric.compute(); },
      [&] { metric.sync(); },
      [&] { metric.sync_async().wait(); },
  };
  for (std::size_t a = 0; a < calls.size(); ++a) {
    for (std::size_t b = 0; b < calls.size(); ++b) {
      if (a == b) continue;
      EXPECT_THAT(mismatch_of([&] { calls[rank == 0 ? a : b](); }),
                  HasSubstr("the ranks are in different calls"));
      EXPECT_FALSE(metric.is_synced());
    }
  }
  EXPECT_EQ(value_of(metric.forward(number(1))), 2);
}

THREAD_RANKS_TEST(CallDifferencesTest, CollectionsSayWhatTheyAreIn, 2) {
  MetricCollection metrics(MetricOptions().dist_sync_on_step(true));
  metrics.add("a", SampleTensorSum());
  metrics.add("b", testkit::SampleCat());
  const at::Tensor batch = at::full({1}, 1.0, at::kDouble);
  EXPECT_THAT(mismatch_of([&] {
                self.rank() == 0 ? metrics.compute() : metrics.forward(batch);
              }),
              HasSubstr("rank 1: forward() of a, b with gradient flow"));
  EXPECT_EQ(metrics.forward(batch)["b"].size(0), 2);
}

// It would pass forward() and fail in backward().
THREAD_RANKS_TEST(CallDifferencesTest, AnotherGradientFlowIsAMismatch, 3) {
  SampleTensorSum metric = stepping(
      self.rank() == 2 ? GradientFlow::kAllRanks : GradientFlow::kReplicated);
  const at::Tensor x = number(1).requires_grad_();
  EXPECT_THAT(mismatch_of([&] { metric.forward(x); }),
              HasSubstr("rank 2: forward() of SampleTensorSum with gradient "
                        "flow kAllRanks"));
  SampleTensorSum same = stepping();
  EXPECT_EQ(value_of(same.forward(x)), 3);
}

TEST(CallDifferencesTest, GradModeCountsUnderAllRanksAlone) {
  for (const GradientFlow flow :
       {GradientFlow::kDetached, GradientFlow::kLocal,
        GradientFlow::kReplicated, GradientFlow::kAllRanks}) {
    run_thread_ranks(2, [&](const auto& communicator) {
      SampleTensorSum metric = stepping(flow);
      const bool odd = communicator->rank() == 1;
      // Whether inputs need gradients never counts.
      at::Tensor x = number(1).set_requires_grad(!odd);
      metric.forward(x).add(x).set_requires_grad(true).sum().backward();
      x = number(1).requires_grad_();
      const at::AutoGradMode mode(!odd);
      if (flow != GradientFlow::kAllRanks) {
        EXPECT_EQ(value_of(metric.forward(x)), 2);
      } else {
        EXPECT_THAT(mismatch_of([&] { metric.forward(x); }),
                    HasSubstr("record no gradients: 1"));
      }
      // Without a graph anywhere nobody waits in a backward pass.
      EXPECT_EQ(value_of(metric.forward(number(1))), 2);
    });
  }
}

// --- two metrics of one kind

THREAD_RANKS_TEST(CallDifferencesTest,
                  ARankThatIsAtAnotherMetricOfTheKindIsFoundOut, 2) {
  SampleTensorSum training, validation;
  for (int epoch = 0; epoch < 2; ++epoch) {
    training.update(number(1));
    EXPECT_EQ(value_of(training.compute()), 2 * epoch + 2);
    validation.update(number(10));
    // In the second epoch one rank is at training once more.
    if (epoch == 1) break;
    EXPECT_EQ(value_of(validation.compute()), 20);
  }
  EXPECT_THAT(mismatch_of([&] {
                self.rank() == 0 ? validation.compute() : training.compute();
              }),
              HasSubstr("synced before, rank 0: 1 times, rank 1: 2 times"));
  EXPECT_EQ(value_of(validation.compute()), 40);
  EXPECT_EQ(value_of(training.compute()), 4);
}

THREAD_RANKS_TEST(CallDifferencesTest, OneEmptyMetricMayStandInForSeveral, 2) {
  SampleTensorSum training, validation, empty;
  const bool idle = self.rank() == 1;
  for (int epoch = 1; epoch <= 3; ++epoch) {
    if (!idle) training.update(number(1));
    if (!idle) validation.update(number(10));
    SampleTensorSum& first = idle ? empty : training;
    SampleTensorSum& second = idle ? empty : validation;
    EXPECT_EQ(value_of(first.compute()), epoch);
    EXPECT_EQ(value_of(first.compute()), epoch);
    EXPECT_EQ(value_of(second.compute()), 10 * epoch);
  }
}

THREAD_RANKS_TEST(CallDifferencesTest, ARankMayMakeItsMetricAnewOrUseAClone,
                  3) {
  const int rank = self.rank();
  auto metric = std::make_unique<SampleTensorSum>();
  for (int i = 0; i < 4; ++i) {
    if (rank == 1) metric = std::make_unique<SampleTensorSum>();
    metric->update(number(1));
    const std::unique_ptr<Metric> clone = metric->clone();
    Metric& used = rank == 2 ? *clone : *metric;
    EXPECT_EQ(value_of(used.compute_results().value()), 2 * i + 3);
  }
}

THREAD_RANKS_TEST(CallDifferencesTest, ASyncInTheBackgroundDoesNotCount, 2) {
  SampleTensorSum metric;
  for (int i = 1; i < 4; ++i) {
    metric.update(number(1));
    EXPECT_EQ(value_of(metric.compute()), 2 * i);
    auto pending = metric.sync_async();
    if (self.rank() == 1) continue;
    EXPECT_EQ(value_of(pending.wait()), 2 * i);
  }
}

// --- failures before a sync

struct OddError {};

// Throws what it is told to, where it is told to.
struct Moody {
  static constexpr const char* kName = "Moody";
  static inline thread_local const char* mood = "";
  struct State {
    Number sum;
    void fields(Fields& f) {
      if (std::string(mood) == "fields") throw std::runtime_error("no fields");
      if (std::string(mood) == "odd fields") throw OddError();
      f("sum", sum);
    }
  };
  State observe(const at::Tensor& value) const {
    if (std::string(mood) == "observe") throw OddError();
    return {Number(value)};
  }
};
struct MoodyMetric final : MetricOf<MoodyMetric, Moody, at::Tensor> {
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MoodyMetric";
  at::Tensor evaluate(const State& s) const { return s.sum.tensor(); }
};

TEST(CallDifferencesTest, WhateverIsThrownBeforeASyncReachesTheOthers) {
  const auto check = [](const std::string& mood, const std::string& text,
                        const std::function<void(MoodyMetric&)>& call) {
    run_thread_ranks(3, [&](const auto& communicator) {
      MoodyMetric metric(NoOptions(), MetricOptions().dist_sync_on_step(true));
      metric.update(number(1));
      const bool odd = communicator->rank() == 1;
      if (odd) Moody::mood = mood.c_str();
      try {
        call(metric);
        ADD_FAILURE() << mood << " on rank " << communicator->rank();
      } catch (const SyncError& error) {
        EXPECT_FALSE(odd);
        EXPECT_EQ(error.code(), SyncErrorCode::kPeerFailed);
        EXPECT_THAT(error.message(), HasSubstr("rank 1 failed: " + text));
      } catch (...) {
        EXPECT_TRUE(odd);
      }
      Moody::mood = "";
      EXPECT_EQ(value_of(metric.forward(number(2))), 6);
      EXPECT_EQ(value_of(metric.compute()), 9);
    });
  };
  const std::vector<std::function<void(MoodyMetric&)>> calls = {
      [](MoodyMetric& metric) { metric.forward(number(1)); },
      [](MoodyMetric& metric) { metric.compute(); },
      [](MoodyMetric& metric) { metric.sync(); },
      [](MoodyMetric& metric) { metric.sync_async().wait(); },
  };
  check("observe", "an exception of an unknown type", calls[0]);
  for (const auto& call : calls) {
    check("fields", "no fields", call);
    check("odd fields", "an exception of an unknown type", call);
  }
}

}  // namespace
}  // namespace tally

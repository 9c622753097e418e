// Metrics in inference mode, after it, and beside ranks that are in it. What
// every metric does there is part of the harness.

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "tally/metrics/collection.h"
#include "tally/metrics/compositional.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using sync::Communicator;
using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::SampleCat;
using testkit::SampleCorrelation;
using testkit::SampleMeanSquaredError;
using testkit::SampleTensorSum;

// The first sync that does not fit in one round, the next one that does.
constexpr std::int64_t kRows[] = {5'000, 3};

void run(int ranks, const testkit::RankFunction& function) {
  testkit::ThreadRanksOptions options;
  options.transport = testkit::ThreadTransport::kGloo;
  testkit::run_thread_ranks(ranks, function, options);
}

at::Tensor counting(std::int64_t rows, double from) {
  return at::arange(rows, at::kDouble).add(from);
}

double value_of(const at::Tensor& tensor) { return tensor.item<double>(); }

MetricCollection collection() {
  MetricCollection metrics;
  metrics.add("error", SampleMeanSquaredError());
  metrics.add("again", SampleMeanSquaredError());
  metrics.add("correlation", SampleCorrelation());
  return metrics;
}

TEST(InferenceModeTest, RanksSyncInItAndAfterIt) {
  for (const int inside : {-1, 0, 1}) {
    run(2, [&](const std::shared_ptr<Communicator>& group) {
      const int rank = group->rank();
      for (const std::int64_t rows : kRows) {
        SampleCat cat;
        MetricCollection metrics = collection();
        const at::Tensor values = counting(rows, rank);
        {
          std::optional<c10::InferenceMode> inference;
          if (inside < 0 || inside == rank) inference.emplace();
          cat.update(values);
          metrics.update(values, values.mul(2).add(1));
          EXPECT_EQ(cat.compute().size(0), 2 * rows);
          auto pending = cat.sync_async();
          const SyncScope synced(metrics);
          EXPECT_EQ(metrics.compute().size(), 3);
          EXPECT_EQ(pending.wait().size(0), 2 * rows);
        }
        cat.update(values);
        metrics.update(values, values.mul(2).add(1));
        EXPECT_EQ(cat.compute().size(0), 4 * rows);
        const Results results = metrics.compute();
        EXPECT_NEAR(value_of(results["correlation"]), 1, 1e-12);
        EXPECT_EQ(value_of(results["again"]), value_of(results["error"]));
      }
    });
  }
}

TEST(InferenceModeTest, WhatItKeepsCanBeWrittenToAndDifferentiated) {
  SampleTensorSum metric;
  std::unique_ptr<Metric> clone, loaded, extracted;
  at::Tensor first, cached;
  {
    const c10::InferenceMode inference;
    metric.update(at::ones({2}));
    first = metric.forward(at::ones({2}));
    EXPECT_FALSE(first.requires_grad());
    cached = metric.compute();
    clone = metric.clone();
    loaded = std::make_unique<SampleTensorSum>();
    ASSERT_TRUE(loaded->deserialize(metric.serialize()).ok());
    MetricCollection metrics;
    metrics.add("sum", SampleTensorSum());
    metrics.update(at::ones({2}));
    metrics.update(at::ones({2}));
    extracted = metrics.extract("sum");
  }
  for (const at::Tensor& tensor :
       {first, cached, metric.compute(), clone->compute_results().value(),
        loaded->compute_results().value(),
        extracted->compute_results().value()}) {
    EXPECT_FALSE(tensor.is_inference());
    const at::Tensor input = at::ones({2}).requires_grad_();
    input.mul(tensor).sum().backward();
    EXPECT_TRUE(input.grad().equal(tensor));
    tensor.fill_(7);
  }
  metric.update(at::ones({2}));
  EXPECT_TRUE(metric.compute().equal(at::full({2}, 3.0f)));
  const at::Tensor input = at::ones({2}).requires_grad_();
  metric.forward(input).sum().backward();
  EXPECT_TRUE(input.grad().equal(at::ones({2})));
}

TEST(InferenceModeTest, ArithmeticOfMetricsMadeInItHasGradientsAfterIt) {
  std::unique_ptr<CompositionalMetric> metric;
  {
    const c10::InferenceMode inference;
    metric =
        std::make_unique<CompositionalMetric>(SampleMeanSquaredError() * 2 + 1);
    metric->update(at::ones({3}), at::ones({3}));
  }
  const at::Tensor preds = at::full({2}, 3.0).requires_grad_();
  metric->forward(preds, at::ones({2})).backward();
  EXPECT_TRUE(preds.grad().equal(at::full({2}, 4.0)));
}

// A backward pass with kAllRanks would wait for a rank that has none.
TEST(InferenceModeTest, RanksInItAreRefusedWhereAGraphNeedsThem) {
  run(2, [](const std::shared_ptr<Communicator>& group) {
    SampleMeanSquaredError metric;
    metric.set_metric_options(
        MetricOptions().dist_sync_on_step(true).gradient_flow(
            sync::GradientFlow::kAllRanks));
    const at::Tensor preds = at::ones({3}).requires_grad_();
    std::optional<c10::InferenceMode> inference;
    if (group->rank() == 1) inference.emplace();
    EXPECT_THAT(refusal_of<sync::SyncError>(
                    [&] { metric.forward(preds, at::ones({3})); }),
                HasSubstr("ranks that record no gradients: 1"));
    inference.reset();
    EXPECT_EQ(metric.update_count(), 0);
    EXPECT_EQ(value_of(metric.forward(preds, at::full({3}, 3.0))), 4);
  });
}

}  // namespace
}  // namespace tally

#include "tally/metrics/wrappers/boot_strapper.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/quantile.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tally/metrics/aggregation/aggregation.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/wrappers/min_max_wrapper.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/metrics/wrappers/helpers.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::number;
using testkit::refusal_of;
using testkit::run_thread_ranks;
using testkit::same_bits;

using Options = BootStrapperOptions;

Options raw_only(std::int64_t copies) {
  return Options(copies).mean(false).std(false).raw(true);
}

at::Tensor raw(BootStrapper& metric) { return metric.compute()["raw"]; }

at::Tensor noise(std::int64_t rows, std::uint64_t seed) {
  return at::randn({rows}, at::detail::createCPUGenerator(seed), at::kDouble);
}

// TorchMetrics' gives 8 to 17: its forward() resets the copies.
TEST(BootStrapperTest, ForwardLosesNothing) {
  BootStrapper forwarded(SumMetric(), raw_only(20));
  BootStrapper updated(SumMetric(), raw_only(20));
  at::Tensor batches = at::zeros({20}, at::kDouble);
  for (int i = 0; i < 4; ++i) {
    batches += forwarded.forward(at::ones({10}))["raw"];
    updated.update(at::ones({10}));
  }
  EXPECT_TRUE(same_bits(raw(forwarded), batches));
  EXPECT_TRUE(same_bits(raw(forwarded), raw(updated)));
  EXPECT_EQ(forwarded.serialize(), updated.serialize());
  EXPECT_NEAR(number(batches.mean()), 40, 5);
}

TEST(BootStrapperTest, DrawsTheSameFromTheSameSeed) {
  const auto value = [](std::int64_t seed) {
    BootStrapper metric(MeanMetric(), raw_only(8).seed(seed));
    metric.update(at::arange(10));
    metric.update(at::arange(10));
    return raw(metric);
  };
  EXPECT_TRUE(same_bits(value(1), value(1)));
  EXPECT_FALSE(value(1).equal(value(2)));
  // The same on any machine.
  BootStrapper counts(SumMetric(), raw_only(6));
  counts.update(at::ones({10}));
  EXPECT_TRUE(
      same_bits(raw(counts), at::tensor({10.0, 11.0, 15.0, 6.0, 11.0, 7.0})));
}

TEST(BootStrapperTest, DrawsEachBatchAndRankAnew) {
  BootStrapper metric(SumMetric(), raw_only(50));
  const at::Tensor first = metric.forward(at::ones({10}))["raw"];
  const at::Tensor second = metric.forward(at::ones({10}))["raw"];
  EXPECT_FALSE(first.equal(second));
  metric.reset();
  EXPECT_TRUE(same_bits(metric.forward(at::ones({10}))["raw"], first));

  for (const int ranks : {2, 3, 5}) {
    run_thread_ranks(ranks, [&](const auto& communicator) {
      const int rank = communicator->rank();
      BootStrapper own(SumMetric({}, MetricOptions().sync_on_compute(false)),
                       raw_only(50));
      BootStrapper all(SumMetric(), raw_only(50));
      if (rank != 1) {  // idle
        own.update(at::ones({10}));
        all.update(at::ones({10}));
      }
      const at::Tensor local = raw(own);
      EXPECT_EQ(local.equal(first), rank == 0);
      const at::Tensor together = raw(all);
      EXPECT_EQ(communicator->collectives(), 1);
      own.sync();
      EXPECT_TRUE(same_bits(raw(own), together));
      own.unsync();
      EXPECT_TRUE(same_bits(raw(own), local));
      EXPECT_NEAR(number(together.mean()), 10 * (ranks - 1), 2 * ranks);
    });
  }
}

TEST(BootStrapperTest, GoesOnFromACheckpoint) {
  const auto fresh = [] {
    return std::make_unique<BootStrapper>(MeanMetric(), raw_only(5).seed(3));
  };
  const auto whole = fresh();
  for (int i = 0; i < 4; ++i) whole->update(noise(9, i));
  const auto first = fresh();
  for (int i = 0; i < 2; ++i) first->update(noise(9, i));
  const auto second = fresh();
  ASSERT_TRUE(second->deserialize(first->serialize()).ok());
  const auto copy = first->clone();
  for (int i = 2; i < 4; ++i) {
    second->update(noise(9, i));
    copy->update(noise(9, i));
  }
  EXPECT_EQ(second->serialize(), whole->serialize());
  EXPECT_EQ(copy->serialize(), whole->serialize());
}

TEST(BootStrapperTest, EstimatesTheSpreadOfAMean) {
  for (const auto strategy :
       {SamplingStrategy::kPoisson, SamplingStrategy::kMultinomial}) {
    BootStrapper metric(MeanMetric(), Options(400).sampling_strategy(strategy));
    const at::Tensor sample = noise(1000, 7);
    for (const at::Tensor& batch : sample.split(100)) metric.update(batch);
    const Results results = metric.compute();
    EXPECT_NEAR(number(results["mean"]), number(sample.mean()), 0.01);
    EXPECT_NEAR(number(results["std"]), 1 / std::sqrt(1000.0), 0.005);
  }
}

// Labels have many equal rows, which must not be drawn alike.
TEST(BootStrapperTest, DrawsEqualRowsApart) {
  BootStrapper metric(MeanMetric(), Options(400));
  const at::Tensor labels = at::arange(1000).remainder(2);
  for (const at::Tensor& batch : labels.split(10)) metric.update(batch);
  EXPECT_NEAR(number(metric.compute()["std"]), 0.5 / std::sqrt(1000.0), 0.003);
}

TEST(BootStrapperTest, GivesTheStatisticsOfTheCopies) {
  BootStrapper metric(MeanMetric(), Options(7).raw(true).quantile({0.05, 0.5}));
  metric.update(noise(20, 1));
  const Results results = metric.compute();
  ASSERT_EQ(results.size(), 4);
  const at::Tensor values = results["raw"];
  EXPECT_TRUE(same_bits(results["mean"], values.mean()));
  EXPECT_TRUE(same_bits(results["std"], values.std()));
  EXPECT_TRUE(same_bits(results["quantile"],
                        at::quantile(values, at::tensor({0.05, 0.5}))));

  BootStrapper one(MeanMetric(), 1);
  one.update(noise(20, 1));
  EXPECT_TRUE(std::isnan(number(one.compute()["std"])));

  BootStrapper parts(testkit::SampleExtent(), Options(3).std(false).raw(true));
  parts.update(noise(20, 1).reshape({10, 2}));
  const Results several = parts.compute();
  EXPECT_EQ(several["low.raw"].sizes(), at::IntArrayRef({3}));
  EXPECT_EQ(several["high.raw"].sizes(), at::IntArrayRef({3, 2}));
  EXPECT_EQ(several["high.mean"].sizes(), at::IntArrayRef({2}));
}

TEST(BootStrapperTest, DrawsAsManyRowsAsAsked) {
  BootStrapper metric(SumMetric(), raw_only(5).sampling_strategy(
                                       SamplingStrategy::kMultinomial));
  metric.update(at::ones({17}));
  metric.update(3.0);  // one row
  EXPECT_TRUE(raw(metric).eq(20).all().item<bool>());
  metric.update(at::empty({0}));
  EXPECT_TRUE(raw(metric).eq(20).all().item<bool>());

  // Preds and target are drawn together; a weight for all is passed on.
  BootStrapper errors(MeanSquaredError(), raw_only(5));
  errors.update(at::arange(10.0), at::arange(10.0).add(2));
  EXPECT_TRUE(raw(errors).eq(4).all().item<bool>());
  BootStrapper weighted(MeanMetric(), raw_only(5));
  weighted.update(at::ones({10}), 2.0);
  EXPECT_TRUE(raw(weighted).eq(1).all().item<bool>());
}

TEST(BootStrapperTest, SharesStatesInACollection) {
  MetricCollection metrics;
  metrics.add("error", BootStrapper(MeanMetric(), Options(4).mean(false)));
  metrics.add("range", BootStrapper(MeanMetric(), Options(4).std(false)));
  metrics.add("other", BootStrapper(MeanMetric(), Options(4).seed(1)));
  EXPECT_EQ(metrics.groups().size(), 2);
  BootStrapper alone(MeanMetric(), Options(4).mean(false));
  for (int i = 0; i < 3; ++i) {
    metrics.update(noise(10, i));
    alone.update(noise(10, i));
  }
  EXPECT_TRUE(
      same_bits(metrics.compute()["error.std"], alone.compute()["std"]));
}

TEST(BootStrapperTest, RefusesBadOptionsAndInputs) {
  const auto refusal = [](const Options& options) {
    return refusal_of<c10::Error>(
        [&] { BootStrapper metric(MeanMetric(), options); });
  };
  EXPECT_THAT(refusal(0), HasSubstr("BootStrapper: expected num_bootstraps to "
                                    "be at least 1, got 0"));
  EXPECT_THAT(refusal(Options().quantile({0.5, 1.5})),
              HasSubstr("expected quantiles in [0, 1], got 1.5"));
  EXPECT_THAT(refusal(Options().mean(false).std(false)),
              HasSubstr("at least one of mean, std, quantile and raw"));
  EXPECT_THAT(refusal_of<c10::Error>(
                  [] { BootStrapper metric{MinMaxMetric(MeanMetric())}; }),
              HasSubstr("BootStrapper: expected a metric that does not store"));

  // Whatever is drawn.
  BootStrapper strict(testkit::SampleStrictSum(), 1);
  at::Tensor values = at::ones({50});
  values[13] = 101;
  for (int i = 0; i < 20; ++i) {
    strict.reset();
    for (int k = 0; k < i; ++k) strict.update(at::ones({1}));
    EXPECT_THAT(refusal_of<c10::Error>([&] { strict.update(values); }),
                HasSubstr("expected values up to 100, got 101"));
  }
  BootStrapper pairs{testkit::SampleCorrelation()};
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                pairs.update(at::ones({1}), at::ones({1, 1}));
              }),
              HasSubstr("nothing"));
  EXPECT_THAT(
      refusal_of<c10::Error>([&] {
        pairs.update(at::ones({2}), at::ones({1, 2}));
      }),
      HasSubstr("expected inputs with the same number of rows, got 2 and 1"));
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { pairs.update(std::string("x"), 1); }),
      HasSubstr("to be an at::Tensor"));
}

}  // namespace
}  // namespace tally

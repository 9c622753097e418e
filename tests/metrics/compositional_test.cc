#include "tally/metrics/compositional.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/testing/compare.h"
#include "tally/testing/internal/numerical_gradient.h"
#include "tally/testing/thread_ranks.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using testkit::near;
using testkit::run_thread_ranks;
using testkit::same_bits;

/// Of a mean: the metric of which the value is easy to choose.
at::Tensor value_at(CompositionalMetric metric, double mean) {
  metric.update(mean);
  return metric.compute();
}

struct Batch {
  at::Tensor preds, target;
};
Batch batch(std::int64_t rows, std::uint64_t seed) {
  const auto random = at::detail::createCPUGenerator(seed);
  return {at::randn({rows}, random, at::kDouble),
          at::randn({rows}, random, at::kDouble)};
}
Batch labels(std::int64_t rows, std::uint64_t seed) {
  const auto random = at::detail::createCPUGenerator(seed);
  return {at::randint(3, {rows}, random, at::kLong),
          at::randint(3, {rows}, random, at::kLong)};
}

template <class Options>
Options of_classes() {
  return Options(3).average(Average::kNone);
}

CompositionalMetric f1_of_classes() {
  MulticlassPrecision p(of_classes<MulticlassPrecisionOptions>());
  MulticlassRecall r(of_classes<MulticlassRecallOptions>());
  return 2 * p * r / (p + r);
}

TEST(CompositionalMetricTest, MakesF1OfPrecisionAndRecall) {
  auto f1 = f1_of_classes();
  MulticlassF1Score expected(of_classes<MulticlassF1ScoreOptions>());
  for (int i = 0; i < 3; ++i) {
    const Batch b = labels(60, i);
    EXPECT_TRUE(near(f1.forward(b.preds, b.target),
                     expected.forward(b.preds, b.target), {1e-15, 0}));
  }
  EXPECT_TRUE(near(f1.compute(), expected.compute(), {1e-15, 0}));
  EXPECT_EQ(f1.update_count(), 3);
}

TEST(CompositionalMetricTest, HasAllOperations) {
  const MeanMetric x;
  const auto check = [](CompositionalMetric metric, double expected) {
    const std::string text = metric.repr();
    EXPECT_DOUBLE_EQ(value_at(std::move(metric), -4).item<double>(), expected)
        << text;
  };
  check(x + x, -8);
  check(x + 1, -3);
  check(1 + x, -3);
  check(x - 1, -5);
  check(1 - x, 5);
  check(x * 2.5, -10);
  check(2.5f * x, -10);
  check(x / 8, -0.5);
  check(8 / x, -2);
  check(-x, 4);
  check(abs(x), 4);
  check(sqrt(abs(x)), 2);
  check(pow(x, 2), 16);
  check(pow(2, x), 0.0625);
  check(minimum(x, 3), -4);
  check(minimum(-5, x), -5);
  check(maximum(x, 3), 3);
  check(maximum(x, -x), 4);
  check((x + 1) * (x - 1) / -(x * x), -15.0 / 16);
}

TEST(CompositionalMetricTest, PropagatesWhatIsNotANumber) {
  const MeanMetric x;
  EXPECT_TRUE(std::isnan((x + 1).compute().item<double>()));  // no update
  EXPECT_TRUE(std::isinf(value_at(1 / x, 0).item<double>()));
  EXPECT_TRUE(std::isnan(value_at(x / x, 0).item<double>()));
}

TEST(CompositionalMetricTest, BroadcastsResults) {
  MulticlassPrecision p(of_classes<MulticlassPrecisionOptions>());
  MulticlassAccuracy micro(
      MulticlassAccuracyOptions(3).average(Average::kMicro));
  auto lead = p - micro;
  const Batch b = labels(10, 1);
  lead.update(b.preds, b.target);
  p.update(b.preds, b.target);
  micro.update(b.preds, b.target);
  EXPECT_TRUE(near(lead.compute(), p.compute() - micro.compute(), {0, 1e-15}));
}

/// Counts its calls.
struct Counted {
  static inline int observed = 0;
  struct State {
    std::int64_t count = 0;
    void fields(Fields& f) { f("count", count); }
  };
  State observe(const at::Tensor& values) const {
    ++observed;
    return {values.numel()};
  }
};
struct NumberOfValues final : MetricOf<NumberOfValues, Counted, at::Tensor> {
  static constexpr const char* kName = "NumberOfValues";
  at::Tensor evaluate(const State& s) const { return Number(s.count); }
};
struct SquareOfNumber final : MetricOf<SquareOfNumber, Counted, at::Tensor> {
  static constexpr const char* kName = "SquareOfNumber";
  at::Tensor evaluate(const State& s) const {
    return Number(s.count) * Number(s.count);
  }
};
struct Halves {
  at::Tensor low, high;
  void visit(ResultParts& parts) { parts("low", low)("high", high); }
};
struct TwoResults final : MetricOf<TwoResults, Counted, Halves> {
  static constexpr const char* kName = "TwoResults";
  Halves evaluate(const State& s) const {
    return {Number(s.count), Number(s.count)};
  }
};

TEST(CompositionalMetricTest, UpdatesEachStateOnce) {
  const NumberOfValues n;
  const SquareOfNumber square;
  auto metric = (n + n) * n - square + NumberOfValues();
  Counted::observed = 0;
  metric.update(at::zeros({3}));
  EXPECT_EQ(Counted::observed, 1);
  EXPECT_EQ(metric.forward(at::zeros({3})).item<double>(), 12);
  EXPECT_EQ(Counted::observed, 2);
  EXPECT_EQ(metric.compute().item<double>(), 42);
  EXPECT_EQ(metric.state().size(), 1);
}

TEST(CompositionalMetricTest, TakesOptionsNotObjects) {
  MeanMetric x;
  auto twice = 2 * x;
  x.update(5.0);
  EXPECT_EQ(twice.status(), MetricStatus::kEmpty);
  twice.update(3.0);
  EXPECT_EQ(twice.compute().item<double>(), 6);
  EXPECT_EQ(x.compute().item<double>(), 5);
  EXPECT_THAT(refusal_of([&] { return x + 1; }),
              HasSubstr("accumulated nothing in arithmetic, got one "
                        "whose update_count is 1"));
  EXPECT_THAT(refusal_of([&] { return 1 - twice; }),
              HasSubstr("accumulated nothing in arithmetic, got one "
                        "whose update_count is 1"));
}

TEST(CompositionalMetricTest, IsToldHowToSyncAsAWhole) {
  const MeanMetric local({}, MetricOptions().sync_on_compute(false));
  EXPECT_THAT(refusal_of([&] { return local + 1; }),
              HasSubstr("expected no options for syncing"));
  auto sum = MeanMetric() + 1;
  sum.set_metric_options(MetricOptions().sync_on_compute(false));
  EXPECT_THAT(refusal_of([&] { return sum + 1; }),
              HasSubstr("expected no options for syncing"));
  run_thread_ranks(2, [](const auto& communicator) {
    auto own = MeanMetric() + 1;
    own.set_metric_options(MetricOptions().sync_on_compute(false));
    own.update(double(communicator->rank()));
    EXPECT_EQ(own.compute().template item<double>(), communicator->rank() + 1);
    EXPECT_EQ(communicator->collectives(), 0);
  });
}

TEST(CompositionalMetricTest, IsAMetric) {
  auto metric = 1 - sqrt(MeanSquaredError()) / (2 + PearsonCorrCoef());
  EXPECT_EQ(metric.name(), "CompositionalMetric");
  EXPECT_EQ(metric.repr(),
            "(1 - (sqrt(MeanSquaredError(squared=true, num_outputs=1)) / "
            "(2 + PearsonCorrCoef(num_outputs=1))))");
  EXPECT_FALSE(metric.higher_is_better().has_value());
  const Batch b = batch(5, 1);
  metric.update(b.preds, b.target);
  const at::Tensor value = metric.compute();

  const auto copy = metric.clone();
  EXPECT_TRUE(same_bits(copy->compute_results().begin()->second, value));
  auto loaded = 1 - sqrt(MeanSquaredError()) / (2 + PearsonCorrCoef());
  ASSERT_TRUE(loaded.deserialize(metric.serialize()).ok());
  EXPECT_TRUE(same_bits(loaded.compute(), value));
  EXPECT_EQ(loaded.update_count(), 1);
  auto other = 1 - MeanSquaredError();
  EXPECT_EQ(other.deserialize(metric.serialize()).code(),
            absl::StatusCode::kFailedPrecondition);

  loaded.merge_state(metric);
  EXPECT_EQ(loaded.update_count(), 2);
  EXPECT_TRUE(near(loaded.compute(), value, {1e-12, 0}));
  EXPECT_THAT(refusal_of([&] { loaded.merge_state(other); }),
              HasSubstr("merge_state expected"));
  loaded.reset();
  EXPECT_EQ(loaded.status(), MetricStatus::kEmpty);
  loaded.set_dtype(at::kFloat);
  EXPECT_EQ(loaded.forward(b.preds, b.target).scalar_type(), at::kFloat);
}

TEST(CompositionalMetricTest, IsAsItWasWhenAMemberRefusesABatch) {
  auto metric = MeanSquaredError() + PearsonCorrCoef(2);
  const Batch b = batch(6, 1);
  EXPECT_THAT(refusal_of([&] { metric.update(b.preds, b.target); }),
              HasSubstr("PearsonCorrCoef"));
  EXPECT_EQ(metric.status(), MetricStatus::kEmpty);
  EXPECT_THAT(refusal_of([&] { metric.update(b.preds); }),
              HasSubstr("expected 2 to 3 inputs, got 1"));
}

TEST(CompositionalMetricTest, RefusesResultsOfSeveralTensors) {
  auto metric = TwoResults() + 1;
  EXPECT_THAT(refusal_of([&] { metric.compute(); }),
              HasSubstr("TwoResults(): expected a result of one tensor in "
                        "arithmetic, got 2"));
}

TEST(CompositionalMetricTest, RefusesExpressionsWithoutMetrics) {
  const internal::Expression five(5);
  EXPECT_THAT(refusal_of([&] { CompositionalMetric metric{five}; }),
              HasSubstr("arithmetic with at least one metric"));
  EXPECT_THAT(refusal_of([] { CompositionalMetric metric; }),
              HasSubstr("arithmetic with at least one metric"));
}

TEST(CompositionalMetricTest, SyncsInOneCollective) {
  for (int ranks : {2, 3, 5}) {
    auto whole = f1_of_classes();
    for (int rank = 0; rank + 1 < ranks; ++rank) {
      whole.update(labels(4 + rank, rank).preds, labels(4 + rank, rank).target);
    }
    const at::Tensor expected = whole.compute();
    run_thread_ranks(ranks, [&](const auto& communicator) {
      const int rank = communicator->rank();
      auto f1 = f1_of_classes();
      if (rank + 1 < ranks) {  // the last one is idle
        const Batch mine = labels(4 + rank, rank);
        f1.update(mine.preds, mine.target);
      }
      const Results local = f1.state();
      EXPECT_TRUE(same_bits(f1.compute(), expected));
      EXPECT_EQ(communicator->collectives(), 1);
      f1.sync();
      EXPECT_TRUE(same_bits(f1.compute(), expected));
      f1.unsync();
      EXPECT_TRUE(same_bits(f1.state(), local));
    });
  }
}

TEST(CompositionalMetricTest, IsAMemberOfACollection) {
  MetricCollection metrics;
  metrics.add("mse", MeanSquaredError());
  metrics.add("worse", 2 * MeanSquaredError());
  const Batch b = batch(5, 1);
  metrics.update(b.preds, b.target);
  const Results results = metrics.compute();
  EXPECT_TRUE(same_bits(results["worse"], 2 * results["mse"]));
}

CompositionalMetric score() {
  return MeanSquaredError() * (1 - PearsonCorrCoef());
}

TEST(CompositionalMetricTest, IsDifferentiableIfAllItsMetricsAre) {
  EXPECT_TRUE(score().is_differentiable());
  EXPECT_FALSE((MeanSquaredError() + NumberOfValues()).is_differentiable());

  const Batch all = batch(6, 1);
  const at::Tensor expected = testkit::numerical_gradient(
      [&](const at::Tensor& preds) {
        auto metric = score();
        return metric.forward(preds, all.target).item<double>();
      },
      all.preds);
  run_thread_ranks(2, [&](const auto& communicator) {
    const bool first = communicator->rank() == 0;
    const std::int64_t begin = first ? 0 : 4, rows = first ? 4 : 2;
    const at::Tensor mine =
        all.preds.narrow(0, begin, rows).clone().set_requires_grad(true);
    losses::MetricLoss loss(score());
    loss->forward(mine, all.target.narrow(0, begin, rows)).backward();
    // Averaged over two ranks afterwards.
    EXPECT_TRUE(
        near(mine.grad() / 2, expected.narrow(0, begin, rows), {1e-7, 1e-9}));
  });
}

TEST(CompositionalMetricTest, SharesTheStateOfItsMetricInACollection) {
  MetricCollection metrics;
  metrics.add("twice", 2 * MeanSquaredError());
  metrics.add("mse", MeanSquaredError());
  metrics.add("root", sqrt(MeanSquaredError()));
  metrics.add("both", MeanSquaredError() + MulticlassAccuracy(3));
  EXPECT_EQ(metrics.groups().size(), 2);
  MetricCollection apart;
  apart.add("twice", 2 * MeanSquaredError());
  EXPECT_EQ(apart.groups().size(), 1);
  for (int i = 0; i < 3; ++i) {
    const auto [preds, target] = labels(10, i);
    const Results one = metrics.forward(preds, target);
    EXPECT_TRUE(one["twice"].equal(apart.forward(preds, target)["twice"]));
    EXPECT_TRUE(one["twice"].equal(2 * one["mse"]));
  }
  const Results all = metrics.compute();
  EXPECT_TRUE(all["twice"].equal(apart.compute()["twice"]));
  EXPECT_TRUE(all["root"].equal(all["mse"].sqrt()));
  EXPECT_TRUE(same_bits(metrics.extract("twice")->state(),
                        apart.extract("twice")->state()));
}

}  // namespace
}  // namespace tally

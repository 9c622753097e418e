#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/intervals/curve_samples.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::interval_values;
using testkit::refusal_of;
using testkit::tensor_of;
using Method = IntervalMethod;

SampleIds ids_of(const at::Tensor& rows) { return SampleIds(rows); }

IntervalOptions options_of(Method method, std::int64_t replicates = 20) {
  return IntervalOptions().method(method).replicates(replicates);
}

std::vector<double> numbers_of(const at::Tensor& tensor) {
  const at::Tensor numbers = tensor.contiguous();
  const auto* const begin = numbers.const_data_ptr<double>();
  return {begin, begin + numbers.numel()};
}

/// null is NaN.
void expect_numbers(const at::Tensor& actual, const nlohmann::json& expected) {
  const auto numbers = numbers_of(actual);
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (expected[i].is_null()) {
      EXPECT_TRUE(std::isnan(numbers[i])) << i;
    } else {
      EXPECT_NEAR(numbers[i], expected[i].get<double>(), 1e-12) << i;
    }
  }
}

template <class M>
void expect_reference(const nlohmann::json& each, Method method,
                      const nlohmann::json& expected, bool stratified = false) {
  const auto ids = each["ids"].get<std::vector<std::int64_t>>();
  const auto rows = static_cast<std::int64_t>(ids.size());
  const bool grouped = ids[0] == 0;
  IntervalMetric metric(M(), options_of(method)
                                 .seed(each["seed"])
                                 .grouped(grouped)
                                 .stratified(stratified));
  const at::Tensor scores = tensor_of(each["scores"]);
  const at::Tensor target = tensor_of(each["target"]);
  for (std::int64_t begin = 0; begin < rows; begin += 40) {
    const std::int64_t count = std::min<std::int64_t>(40, rows - begin);
    const auto part = [&](const at::Tensor& all) {
      return all.narrow(0, begin, count);
    };
    const SampleIds own(std::vector<std::int64_t>(ids.begin() + begin,
                                                  ids.begin() + begin + count));
    if (each["weight"].is_null()) {
      metric.update(own, part(scores), part(target));
    } else {
      metric.update(own, part(scores), part(target),
                    part(tensor_of(each["weight"])));
    }
  }
  expect_numbers(metric.replicates().replicates.value(), expected);
}

TEST(CurveReplicatesTest, EqualScikitLearns) {
  for (const auto& each : interval_values()["curves"]) {
    for (const Method method : {Method::kPoisson, Method::kDoubleOrNothing}) {
      const auto& expected =
          each[EnumNames<Method>::kNames[static_cast<int>(method)]];
      expect_reference<BinaryAUROC>(each, method, expected["roc"]);
      expect_reference<BinaryAveragePrecision>(each, method,
                                               expected["precision_recall"]);
      expect_reference<BinaryAUROC>(each, method, expected["roc"],
                                    /*stratified=*/true);
      expect_reference<BinaryAveragePrecision>(
          each, method, expected["stratified_precision_recall"],
          /*stratified=*/true);
    }
  }
}

/// The metric's own values with the replicates' weights.
template <class M>
at::Tensor weighted_values(const at::Tensor& scores, const at::Tensor& target,
                           const at::Tensor& weight, const at::Tensor& ids,
                           Method method, std::int64_t replicates) {
  const ReplicateWeights weights(0,
                                 method == Method::kPoisson
                                     ? WeightKind::kPoisson
                                     : WeightKind::kDoubleOrNothing,
                                 replicates);
  const at::Tensor drawn = weights(ids_of(ids)).to(at::kDouble);
  std::vector<double> values;
  for (std::int64_t r = 0; r < replicates; ++r) {
    M metric;
    metric.update(scores, target, drawn.select(1, r).mul(weight));
    values.push_back(metric.compute().template item<double>());
  }
  return at::tensor(values);
}

template <class M>
void expect_weighted_values(const at::Tensor& scores, const at::Tensor& target,
                            const at::Tensor& weight) {
  constexpr std::int64_t kReplicates = 150;
  const at::Tensor ids = at::arange(scores.size(0)).mul(31);
  for (const Method method : {Method::kPoisson, Method::kDoubleOrNothing}) {
    IntervalMetric metric(M(), options_of(method, kReplicates));
    metric.update(ids_of(ids), scores, target, weight);
    const at::Tensor expected =
        weighted_values<M>(scores, target, weight, ids, method, kReplicates);
    EXPECT_TRUE(metric.replicates().replicates.value().allclose(expected, 1e-12,
                                                                1e-12));
  }
}

TEST(CurveReplicatesTest, AreTheMetricsValuesWithWeights) {
  // Steps and ties that are longer than what is added at a time, and shorter.
  constexpr std::int64_t kRows = 400;
  const at::Tensor rows = at::arange(kRows, at::kDouble);
  const at::Tensor target = rows.mul(1.3).sin().gt(0.2);
  for (const double values : {1., 3., 40., 1e6}) {
    const at::Tensor scores = rows.mul(0.7)
                                  .sin()
                                  .add(target.to(at::kDouble))
                                  .mul(values)
                                  .round()
                                  .div(4 * values)
                                  .add(0.4);
    const at::Tensor own = rows.remainder(7).mul(0.3);
    for (const at::Tensor& weight : {at::ones({kRows}, at::kDouble), own}) {
      expect_weighted_values<BinaryAUROC>(scores, target, weight);
      expect_weighted_values<BinaryAveragePrecision>(scores, target, weight);
    }
  }
  const at::Tensor separate = rows.div(kRows);
  for (const at::Tensor& classes : {separate.gt(0.5), separate.lt(0.1)}) {
    const at::Tensor ones = at::ones({kRows}, at::kDouble);
    expect_weighted_values<BinaryAUROC>(separate, classes, ones);
    expect_weighted_values<BinaryAveragePrecision>(separate, classes, ones);
  }
}

struct Few {
  at::Tensor scores = at::arange(60, at::kDouble)
                          .mul(0.7)
                          .sin()
                          .mul(4)
                          .round()
                          .div(10)
                          .add(0.5);
  at::Tensor target = at::arange(60).mul(7).remainder(5).gt(2);
  at::Tensor ids = at::arange(60).mul(17);
};

at::Tensor replicates_of(IntervalMetric& metric) {
  return metric.replicates().replicates.value();
}

TEST(CurveReplicatesTest, DoNotDependOnTheOrderOfRows) {
  const Few few;
  const at::Tensor order = at::arange(60).mul(13).remainder(60);
  const at::Tensor weight = at::arange(60, at::kDouble).mul(0.37).cos().abs();
  const auto run = [&](const at::Tensor& rows) {
    const auto of = [&](const at::Tensor& all) {
      return all.index_select(0, rows);
    };
    IntervalMetric metric(BinaryAUROC(), options_of(Method::kPoisson));
    metric.update(ids_of(of(few.ids)), of(few.scores), of(few.target),
                  of(weight));
    return replicates_of(metric);
  };
  EXPECT_TRUE(run(at::arange(60)).equal(run(order)));
}

TEST(CurveReplicatesTest, LeaveOutWhatTheMetricDoes) {
  const Few few;
  const at::Tensor target = few.target.to(at::kLong).masked_fill(
      at::arange(60).remainder(6).eq(0), -1);
  const at::Tensor weight =
      at::ones({60}, at::kDouble).masked_fill(at::arange(60).eq(7), 0);
  const at::Tensor nan =
      at::arange(60).remainder(9).eq(4).logical_or(at::arange(60).eq(10));
  const at::Tensor scores = few.scores.masked_fill(nan, std::nan(""));
  const at::Tensor kept =
      target.ne(-1).logical_and(weight.ne(0)).logical_and(nan.logical_not());
  const auto select = [&](const at::Tensor& all) {
    return all.masked_select(kept);
  };
  MetricOptions ignoring;
  ignoring.nan_policy(NanPolicy::kIgnore);
  const auto options = BinaryAUROCOptions().ignore_index(-1);
  IntervalMetric all(BinaryAUROC(options, ignoring),
                     options_of(Method::kPoisson));
  IntervalMetric some(BinaryAUROC(), options_of(Method::kPoisson));
  const at::Tensor nan_weight =
      weight.masked_fill(at::arange(60).eq(10), std::nan(""));
  all.update(ids_of(few.ids), scores, target, nan_weight);
  some.update(ids_of(select(few.ids)), select(scores), select(target));
  EXPECT_TRUE(replicates_of(all).equal(replicates_of(some)));
  all.reset();
  all.update(ids_of(few.ids), scores.masked_fill(weight.eq(0), std::nan("")),
             target);
  EXPECT_TRUE(replicates_of(all).equal(replicates_of(some)));
}

TEST(CurveReplicatesTest, GiveAllPositionsOfARowItsWeight) {
  const Few few;
  IntervalMetric rows(BinaryAUROC(), options_of(Method::kPoisson));
  rows.update(ids_of(at::arange(20)), few.scores.reshape({20, 3}),
              few.target.reshape({20, 3}));
  IntervalMetric grouped(BinaryAUROC(),
                         options_of(Method::kPoisson).grouped(true));
  grouped.update(ids_of(at::arange(60).floor_divide(3)), few.scores,
                 few.target);
  EXPECT_TRUE(replicates_of(rows).equal(replicates_of(grouped)));
}

TEST(CurveReplicatesTest, AreUndefinedWithoutBothClasses) {
  IntervalMetric metric(BinaryAUROC(), options_of(Method::kPoisson, 1000));
  const at::Tensor scores = at::arange(40, at::kDouble).div(40);
  metric.update(scores, scores.gt(0.9));
  const Interval few = metric.compute().value();
  // Three positives are all left out in exp(-3) of the replicates.
  EXPECT_NEAR(few.undefined, 50, 20);
  metric.reset();
  metric.update(scores, scores.gt(0.95));
  const Interval one = metric.compute().value();
  EXPECT_NEAR(one.undefined, 368, 50);
  EXPECT_TRUE(std::isnan(one.low.item<double>()));
  metric.reset();
  metric.update(scores.masked_fill(scores.lt(0.02), std::nan("")),
                scores.gt(0.5));
  EXPECT_TRUE(std::isnan(metric.compute().value().high.item<double>()));
  metric.reset();
  EXPECT_TRUE(std::isnan(metric.compute().value().high.item<double>()));
  EXPECT_THAT(refusal_of([&] { metric.replicates(); }),
              HasSubstr("expected rows"));
}

TEST(CurveReplicatesTest, ReplaceTheJackknifeForGroups) {
  const auto method_of = [](OwnedMetric metric, bool grouped) {
    return IntervalMetric(std::move(metric), IntervalOptions().grouped(grouped))
        .method();
  };
  EXPECT_EQ(method_of(BinaryAUROC(), false), Method::kDelongNewcombe);
  EXPECT_EQ(method_of(BinaryAUROC(), true), Method::kObuchowski);
  EXPECT_EQ(method_of(BinaryAveragePrecision(), true), Method::kJackknife);
  EXPECT_EQ(method_of(BinaryAveragePrecision(), false), Method::kDeleteOne);
  const auto binned = BinaryAUROCOptions().thresholds(20);
  EXPECT_EQ(method_of(BinaryAUROC(binned), true), Method::kJackknife);
  for (const auto& options : {binned, BinaryAUROCOptions().max_fpr(0.5)}) {
    EXPECT_THAT(refusal_of([&] {
                  IntervalMetric(BinaryAUROC(options),
                                 options_of(Method::kPoisson));
                }),
                HasSubstr("expected a metric that method poisson fits, got "
                          "BinaryAUROC("));
  }
}

TEST(CurveReplicatesTest, HaveTheWidthOfDelongs) {
  constexpr std::int64_t kRows = 2000;
  const at::Tensor rows = at::arange(kRows, at::kDouble);
  const at::Tensor target = rows.mul(12.9898).sin().mul(43.7).frac().gt(0.3);
  const at::Tensor scores = rows.mul(78.233)
                                .sin()
                                .mul(91.1)
                                .frac()
                                .abs()
                                .add(target.to(at::kDouble).mul(0.4))
                                .div(2);
  IntervalMetric delong{BinaryAUROC()};
  delong.update(scores, target);
  IntervalMetric drawn(BinaryAUROC(), options_of(Method::kPoisson, 1000));
  drawn.update(scores, target);
  const Interval formula = delong.compute().value();
  const Interval percentiles = drawn.compute().value();
  const double error = formula.standard_error.item<double>();
  EXPECT_NEAR(percentiles.standard_error.item<double>(), error, 0.1 * error);
  EXPECT_NEAR(percentiles.low.item<double>(), formula.low.item<double>(),
              0.4 * error);
  EXPECT_NEAR(percentiles.high.item<double>(), formula.high.item<double>(),
              0.4 * error);
}

TEST(CurveReplicatesTest, CompareTwoModels) {
  const Few few;
  const auto run = [&](const at::Tensor& scores) {
    IntervalMetric metric(BinaryAUROC(), options_of(Method::kPoisson, 500));
    metric.update(ids_of(few.ids), scores, few.target);
    return parse_replicates(to_text({{"auroc", metric.replicates()}}))[0]
        .second;
  };
  const at::Tensor better =
      few.scores.add(few.target.to(at::kDouble).mul(0.2)).div(1.2);
  const auto parts = compare(run(better), run(few.scores), 0.95);
  const Comparison& part = parts[0].second;
  EXPECT_GT(part.low.item<double>(), 0);
  EXPECT_LT(part.p_value.item<double>(), 0.05);
  const auto same = compare(run(better), run(better), 0.95);
  EXPECT_TRUE(std::isnan(same[0].second.high.item<double>()));
}

TEST(CurveReplicatesTest, CorrectAreasUnderRocForSkewness) {
  using internal::intervals::CurveSample;
  using internal::intervals::roc_acceleration;
  for (const auto& each : interval_values()["areas"]) {
    std::vector<CurveSample> rows, halves;
    for (std::size_t i = 0; i < each["scores"].size(); ++i) {
      CurveSample row;
      row.score = each["scores"][i];
      row.is_positive = each["target"][i] == 1;
      row.id = static_cast<std::int64_t>(i);
      rows.push_back(row);
      // A row in two parts is still one row.
      row.weight = 0.5;
      halves.insert(halves.end(), 2, row);
    }
    const double expected = each["acceleration"];
    EXPECT_NEAR(roc_acceleration(rows), expected, 1e-12);
    EXPECT_NEAR(roc_acceleration(halves), expected, 1e-12);
  }
  const Few few;
  const auto interval_of = [&](ReplicateInterval ends) {
    IntervalMetric metric(
        BinaryAUROC(), IntervalOptions().ends(ends).method(Method::kPoisson));
    metric.update(few.scores, few.target);
    return metric.compute().value();
  };
  const Interval plain = interval_of(ReplicateInterval::kPercentile);
  const Interval bca = interval_of(ReplicateInterval::kBca);
  EXPECT_NE(bca.low.item<double>(), plain.low.item<double>());
  EXPECT_NEAR(bca.low.item<double>(), plain.low.item<double>(),
              plain.standard_error.item<double>());
  const auto bca_options = IntervalOptions().ends(ReplicateInterval::kBca);
  EXPECT_EQ(IntervalMetric(BinaryAUROC(), bca_options).method(),
            Method::kPoisson);
  EXPECT_THAT(refusal_of([&] {
                IntervalMetric(BinaryAveragePrecision(), bca_options);
              }),
              HasSubstr("replicates of an AUROC, for ends=bca, got poisson of "
                        "BinaryAveragePrecision("));
}

}  // namespace
}  // namespace tally

#include "tally/metrics/intervals/model_comparison.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/exact_match.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/paired_tests.h"
#include "tally/metrics/intervals/replicates.h"
#include "tally/metrics/regression/max_error.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using Method = ComparisonMethod;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testkit::interval_values;
using testkit::refusal_of;
using testkit::tensor_of;

constexpr std::int64_t kRows = 90;

at::Tensor wave(double frequency) {
  return at::arange(kRows, at::kDouble).mul(frequency).sin().mul(0.5).add(0.5);
}
at::Tensor target() { return at::arange(kRows).mul(7).remainder(10).lt(4); }
at::Tensor first() { return wave(1.3).mul(0.7).add(target().mul(0.3)); }
at::Tensor second() { return first().mul(0.8).add(wave(2.9).mul(0.2)); }

double number(const at::Tensor& tensor) { return tensor.item<double>(); }

Comparison only(ModelComparison& models) {
  const Comparisons parts = models.compute();
  EXPECT_EQ(parts.size(), 1);
  EXPECT_EQ(parts[0].first, "");
  return parts[0].second;
}

double value_of(const Metric& metric, const at::Tensor& preds,
                const at::Tensor& labels) {
  const auto own = metric.clone();
  own->update(preds, labels);
  return number(own->compute().value());
}

void expect_same(const Comparison& a, const Comparison& b) {
  const auto close = [](const at::Tensor& x, const at::Tensor& y) {
    EXPECT_TRUE(x.allclose(y, 1e-12, 1e-12, /*equal_nan=*/true)) << x << y;
  };
  close(a.first, b.first);
  close(a.second, b.second);
  close(a.difference, b.difference);
  close(a.low, b.low);
  close(a.high, b.high);
  close(a.p_value, b.p_value);
  EXPECT_EQ(a.level, b.level);
  EXPECT_EQ(a.method, b.method);
  EXPECT_EQ(a.n, b.n);
  EXPECT_EQ(a.replicates, b.replicates);
  EXPECT_EQ(a.undefined, b.undefined);
}

TEST(PairedDifferenceTest, EqualsNewcombesFormula) {
  for (const auto& each : interval_values()["paired_differences"]) {
    const auto& cells = each["cells"];
    const IntervalBounds ends = paired_difference_interval(
        cells[0], cells[1], cells[2], cells[3], each["level"]);
    EXPECT_NEAR(ends.low, each["ends"][0], 1e-10) << each;
    EXPECT_NEAR(ends.high, each["ends"][1], 1e-10) << each;
    const IntervalBounds other = paired_difference_interval(
        cells[0], cells[2], cells[1], cells[3], each["level"]);
    EXPECT_NEAR(other.low, -ends.high, 1e-14);
  }
  EXPECT_TRUE(std::isnan(paired_difference_interval(0, 0, 0, 0, 0.9).low));
  EXPECT_THAT(refusal_of([] { paired_difference_interval(1, 2, -3, 4, 0.9); }),
              HasSubstr("expected numbers of at least 0, got -3"));
  EXPECT_THAT(refusal_of([] { paired_difference_interval(1, 2, 3, 4, 1); }),
              HasSubstr("expected a level in (0, 1)"));
}

TEST(ModelComparisonTest, ComparesFractionsOfRowsByMcnemarsTest) {
  // For each case of statsmodels: rows by which model is correct.
  for (const auto& each : interval_values()["mcnemar"]) {
    const std::int64_t own = each["first"];
    const std::int64_t other = each["second"];
    const auto rows = [&](bool both, bool a, bool b, bool neither) {
      return at::cat({at::full({50}, both), at::full({own}, a),
                      at::full({other}, b), at::full({50}, neither)})
          .to(at::kLong);
    };
    ModelComparison models{BinaryAccuracy()};
    models.update(rows(true, true, false, false),
                  rows(true, false, true, false),
                  at::ones({100 + own + other}, at::kLong));
    const Comparison result = only(models);
    EXPECT_EQ(result.method, Method::kMcnemar);
    EXPECT_NEAR(number(result.p_value), each["mid"], 1e-10);
    const auto n = static_cast<double>(100 + own + other);
    EXPECT_NEAR(number(result.first), static_cast<double>(50 + own) / n, 1e-15);
    EXPECT_NEAR(number(result.second), static_cast<double>(50 + other) / n,
                1e-15);
    const IntervalBounds ends =
        paired_difference_interval(50, own, other, 50, 0.95);
    EXPECT_EQ(number(result.low), ends.low);
    EXPECT_EQ(number(result.high), ends.high);
    EXPECT_EQ(result.n, 100 + own + other);
    EXPECT_EQ(result.replicates, 0);
  }
}

TEST(ModelComparisonTest, TakesEveryFractionOfCorrectRows) {
  const auto check = [](auto metric, const at::Tensor& a, const at::Tensor& b,
                        const at::Tensor& labels) {
    const double own = value_of(metric, a, labels);
    const double other = value_of(metric, b, labels);
    ModelComparison models(std::move(metric),
                           ModelComparisonOptions().level(0.9));
    EXPECT_EQ(models.method(), Method::kMcnemar);
    EXPECT_FALSE(models.uses_ids());
    models.update(a.narrow(0, 0, 40), b.narrow(0, 0, 40),
                  labels.narrow(0, 0, 40));
    models.update(a.narrow(0, 40, kRows - 40), b.narrow(0, 40, kRows - 40),
                  labels.narrow(0, 40, kRows - 40));
    const Comparison result = only(models);
    EXPECT_NEAR(number(result.first), own, 1e-15);
    EXPECT_NEAR(number(result.second), other, 1e-15);
    EXPECT_NEAR(number(result.difference), own - other, 1e-15);
    EXPECT_LT(number(result.low), number(result.difference));
    EXPECT_LT(number(result.difference), number(result.high));
    EXPECT_EQ(result.level, 0.9);
  };
  const at::Tensor labels = target().to(at::kLong);
  check(BinaryAccuracy(), first(), second(), target());
  check(BinaryAccuracy(
            BinaryAccuracyOptions().threshold(0.7).ignore_index(1).input(
                ScoreKind::kLogits)),
        wave(1.3) * 4 - 2, wave(2.1) * 4 - 2, labels);
  const auto classes = [](double frequency) {
    return at::stack({wave(frequency), wave(frequency * 2), wave(0.3), wave(5)},
                     1);
  };
  const at::Tensor four = at::arange(kRows).mul(3).remainder(4);
  for (const std::int64_t top : {1, 2}) {
    check(MulticlassAccuracy(MulticlassAccuracyOptions(4)
                                 .average(Average::kMicro)
                                 .ignore_index(2)
                                 .top_k(top)),
          classes(1.3), classes(1.9), four);
  }
  check(MulticlassExactMatch(4), classes(1.3), classes(1.9), four);
  check(MulticlassExactMatch(2), at::stack({labels, labels, labels.roll(1)}, 1),
        at::stack({labels, labels.roll(2), labels}, 1),
        at::stack({labels, labels, labels}, 1));
  check(MultilabelExactMatch(2), at::stack({first(), wave(2.2)}, 1),
        at::stack({second(), wave(2.1)}, 1),
        at::stack({labels, labels.roll(3)}, 1));
}

TEST(ModelComparisonTest, ComparesAreasByDelongsTest) {
  const auto& each = interval_values()["paired_areas"];
  const at::Tensor a = tensor_of(each["first"]);
  const at::Tensor b = tensor_of(each["second"]);
  const at::Tensor labels = tensor_of(each["target"]).to(at::kLong);
  const auto scores = BinaryAUROCOptions().input(ScoreKind::kScores);
  ModelComparison models{BinaryAUROC(scores)};
  EXPECT_EQ(models.method(), Method::kDelong);
  // In another order, with rows that are ignored.
  models.update(a.narrow(0, 50, 70), b.narrow(0, 50, 70),
                labels.narrow(0, 50, 70));
  models.update(a.narrow(0, 0, 50), b.narrow(0, 0, 50),
                labels.narrow(0, 0, 50));
  const Comparison result = only(models);
  EXPECT_NEAR(number(result.first), each["areas"][0], 1e-12);
  EXPECT_NEAR(number(result.second), each["areas"][1], 1e-12);
  EXPECT_NEAR(number(result.difference), each["difference"], 1e-12);
  const double width = 1.959963984540054 * each["error"].get<double>();
  EXPECT_NEAR(number(result.low), number(result.difference) - width, 1e-10);
  EXPECT_NEAR(number(result.high), number(result.difference) + width, 1e-10);
  EXPECT_NEAR(number(result.p_value), each["p"], 1e-10);
  EXPECT_EQ(result.n, 120);

  ModelComparison ignoring{
      BinaryAUROC(BinaryAUROCOptions(scores).ignore_index(7))};
  ignoring.update(at::cat({a, a}), at::cat({b, b * 3}),
                  at::cat({labels, at::full({120}, 7)}));
  Comparison wanted = result;
  wanted.n = 240;
  expect_same(wanted, only(ignoring));
}

TEST(ModelComparisonTest, ComparesEverythingElseByReplicates) {
  const auto check = [](auto metric, Method method, IntervalMethod same,
                        bool grouped) {
    const SampleIds ids(at::arange(kRows).mul(11).remainder(grouped ? 30 : 97));
    const auto replicates_of = [&](const at::Tensor& preds) {
      IntervalMetric own(metric.clone(), IntervalOptions()
                                             .method(same)
                                             .seed(5)
                                             .blocks(7)
                                             .replicates(60)
                                             .grouped(grouped));
      own.update(ids, preds, target());
      return own.replicates();
    };
    const Comparisons wanted =
        compare(replicates_of(first()), replicates_of(second()), 0.8);
    ModelComparison models(std::move(metric), ModelComparisonOptions()
                                                  .method(method)
                                                  .level(0.8)
                                                  .seed(5)
                                                  .blocks(7)
                                                  .replicates(60)
                                                  .grouped(grouped));
    EXPECT_TRUE(models.uses_ids());
    EXPECT_NE(models.method(), Method::kAuto);
    models.update(ids, first(), second(), target());
    const Comparisons parts = models.compute();
    ASSERT_EQ(parts.size(), wanted.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      expect_same(parts[i].second, wanted[i].second);
    }
  };
  using Same = IntervalMethod;
  check(BinaryF1Score(), Method::kAuto, Same::kJackknife, false);
  check(MeanSquaredError(), Method::kAuto, Same::kJackknife, false);
  check(BinaryF1Score(), Method::kDoubleOrNothing, Same::kDoubleOrNothing,
        false);
  check(BinaryAveragePrecision(), Method::kAuto, Same::kJackknife, false);
  check(BinaryAUROC(), Method::kJackknife, Same::kJackknife, false);
  check(BinaryAUROC(), Method::kAuto, Same::kJackknife, true);
  check(BinaryAUROC(), Method::kPoisson, Same::kPoisson, true);
  check(BinaryAccuracy(), Method::kAuto, Same::kJackknife, true);
  check(BinaryAccuracy(), Method::kPoisson, Same::kPoisson, false);
}

TEST(ModelComparisonTest, SharesTheOtherInputs) {
  ModelComparison errors{MeanMetric()};
  errors.update(first(), second(), wave(0.2));
  const Comparison result = only(errors);
  EXPECT_NEAR(number(result.first),
              number((first() * wave(0.2)).sum() / wave(0.2).sum()), 1e-12);
  EXPECT_NEAR(number(result.second),
              number((second() * wave(0.2)).sum() / wave(0.2).sum()), 1e-12);
}

TEST(ModelComparisonTest, TakesInputsByName) {
  ModelComparison positional{MeanMetric()};
  positional.update(first(), second(), wave(0.2));
  const Comparison wanted = only(positional);
  ModelComparison named{MeanMetric()};
  named.update({{"weight", wave(0.2)},
                {"second_value", second()},
                {"first_value", first()}});
  expect_same(only(named), wanted);
  ModelComparison moved(std::move(named));
  moved.reset();
  moved.update(SampleIds(at::arange(kRows)), {{"second_value", second()},
                                              {"first_value", first()},
                                              {"weight", wave(0.2)}});
  expect_same(only(moved), wanted);
  EXPECT_THAT(
      refusal_of([&] {
        moved.update({{"value", first()}, {"second_value", second()}});
      }),
      HasSubstr("MeanMetric: expected the inputs first_value, second_value[, "
                "weight], got 'value'"));
  EXPECT_THAT(refusal_of([&] {
                moved.update({{"first_value", first()}, {"weight", wave(0.2)}});
              }),
              HasSubstr("expected the input 'second_value'"));
  EXPECT_EQ(moved.rows(), kRows);
}

TEST(ModelComparisonTest, IsSavedAndLoaded) {
  const auto check = [](const auto& metric) {
    const auto batch = [](ModelComparison& models, std::int64_t begin) {
      const auto rows = [=](const at::Tensor& all) {
        return all.narrow(0, begin, 45);
      };
      models.update(SampleIds(rows(at::arange(kRows))), rows(first()),
                    rows(second()), rows(target()));
    };
    ModelComparison whole(metric.clone());
    ModelComparison saved(metric.clone());
    ModelComparison loaded(metric.clone());
    batch(whole, 0);
    batch(whole, 45);
    batch(saved, 0);
    const std::string bytes = saved.serialize();
    ASSERT_TRUE(loaded.deserialize(bytes).ok());
    EXPECT_EQ(loaded.rows(), 45);
    batch(loaded, 45);
    EXPECT_EQ(loaded.serialize(), whole.serialize());
    expect_same(only(loaded), only(whole));
    // On any error nothing has changed.
    EXPECT_FALSE(saved.deserialize(bytes.substr(1)).ok());
    IntervalMetric other(metric.clone());
    EXPECT_EQ(saved.deserialize(other.serialize()).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(saved.serialize(), bytes);
  };
  check(BinaryAccuracy());
  check(BinaryAUROC());
  check(BinaryF1Score());
  check(MeanSquaredError());
}

TEST(ModelComparisonTest, HasNoValueWithoutRowsAndWithNan) {
  const auto check_nan = [](const Comparison& result) {
    for (const at::Tensor& part :
         {result.difference, result.low, result.high, result.p_value}) {
      EXPECT_TRUE(std::isnan(number(part)));
    }
  };
  const auto check_empty = [&](auto metric) {
    ModelComparison models(std::move(metric));
    check_nan(only(models));
    const at::Tensor none = at::zeros({0}, at::kDouble);
    models.update(none, none, none);
    const Comparison result = only(models);
    check_nan(result);
    EXPECT_EQ(result.n, 0);
    models.update(first(), second(), target().to(at::kDouble));
    EXPECT_FALSE(std::isnan(number(only(models).low)));
    EXPECT_EQ(models.rows(), kRows);
    models.reset();
    EXPECT_EQ(models.rows(), 0);
    check_nan(only(models));
  };
  check_empty(BinaryAccuracy());
  check_empty(BinaryAUROC());
  check_empty(BinaryAveragePrecision());
  check_empty(MeanSquaredError());

  at::Tensor broken = first().clone();
  broken[3] = std::numeric_limits<double>::quiet_NaN();
  const auto check_broken = [&](auto metric) {
    ModelComparison models(std::move(metric));
    models.update(broken, second(), target());
    const Comparison result = only(models);
    check_nan(result);
    EXPECT_TRUE(std::isnan(number(result.first)));
    EXPECT_FALSE(std::isnan(number(result.second)));
  };
  check_broken(BinaryAccuracy());
  check_broken(BinaryAUROC());

  MetricOptions ignores;
  ignores.nan_policy(NanPolicy::kIgnore);
  const auto check_ignored = [&](auto metric) {
    const double value = value_of(metric, broken, target());
    ModelComparison models(std::move(metric));
    EXPECT_THAT(refusal_of([&] { models.update(broken, second(), target()); }),
                HasSubstr("expected both models' preds to be NaN in the same "
                          "rows"));
    EXPECT_EQ(models.rows(), 0);
    at::Tensor other = second().clone();
    other[3] = std::numeric_limits<double>::quiet_NaN();
    models.update(broken, other, target());
    EXPECT_NEAR(number(only(models).first), value, 1e-14);
  };
  check_ignored(BinaryAccuracy({}, ignores));
  check_ignored(BinaryAUROC({}, ignores));
}

TEST(ModelComparisonTest, SaysWhatItCannotCompare) {
  const auto refused = [](auto metric, const ModelComparisonOptions& options) {
    return refusal_of(
        [&] { ModelComparison models(std::move(metric), options); });
  };
  EXPECT_THAT(refused(MaxError(), {}), HasSubstr("MaxError has no interval"));
  EXPECT_THAT(refused(BinaryF1Score(),
                      ModelComparisonOptions().method(Method::kMcnemar)),
              HasSubstr("expected a metric that method mcnemar fits, got "
                        "BinaryF1Score("));
  EXPECT_THAT(
      refused(BinaryAUROC(BinaryAUROCOptions().thresholds(5)),
              ModelComparisonOptions().method(Method::kDelong)),
      HasSubstr("expected a metric that method delong fits, got BinaryAUROC("));
  EXPECT_THAT(
      refused(BinaryAccuracy(),
              ModelComparisonOptions().method(Method::kMcnemar).grouped(true)),
      HasSubstr("expected method poisson, double_or_nothing or jackknife for "
                "grouped rows, got mcnemar"));
  EXPECT_THAT(refused(BinaryAUROC(BinaryAUROCOptions().thresholds(5)),
                      ModelComparisonOptions().method(Method::kPoisson)),
              HasSubstr("expected a metric that method poisson fits"));
  EXPECT_THAT(refused(BinaryAccuracy(), ModelComparisonOptions().level(1)),
              HasSubstr("expected a level in (0, 1)"));
  EXPECT_THAT(refused(BinaryAccuracy(), ModelComparisonOptions().blocks(1)),
              HasSubstr("expected at least 2 blocks, got 1"));
}

TEST(ModelComparisonTest, ChangesNothingForBadInput) {
  const auto check = [](auto metric, bool takes_weight) {
    ModelComparison models(std::move(metric));
    models.update(SampleIds(at::arange(kRows)), first(), second(), target());
    const Comparison before = only(models);
    const auto refusal = [&](const auto&... inputs) {
      const std::string text = refusal_of<c10::Error>(
          [&] { models.update(SampleIds(at::arange(2) + 500), inputs...); });
      expect_same(only(models), before);
      EXPECT_EQ(models.rows(), kRows);
      return text;
    };
    const at::Tensor two = at::tensor({0.25, 0.75}, at::kDouble);
    const at::Tensor labels = at::tensor({0, 1});
    EXPECT_THAT(refusal(two),
                HasSubstr("twice, once for each model, got 1 inputs"));
    EXPECT_THAT(refusal(two, two.narrow(0, 0, 1), labels),
                HasSubstr("expected inputs with the same number of rows, got 2 "
                          "and 1"));
    EXPECT_THAT(refusal(two, two * 2, labels), HasSubstr("1.5"));
    // The first one, or that of the first block.
    EXPECT_THAT(refusal(two, two, labels + 4),
                AnyOf(HasSubstr("got 4"), HasSubstr("got 5")));
    EXPECT_NE(refusal(two, two), "nothing");
    EXPECT_THAT(refusal_of([&] {
                  models.update(SampleIds(at::arange(3)), two, two, labels);
                }),
                HasSubstr("ModelComparison: expected an id for each of 2 rows, "
                          "got 3"));
    if (!takes_weight) {
      EXPECT_THAT(refusal(two, two, labels, two),
                  HasSubstr("expected no weight"));
    }
  };
  check(BinaryAccuracy(), false);
  check(BinaryAUROC(), false);
  check(BinaryF1Score(), true);
  check(BinaryAveragePrecision(), true);

  ModelComparison f1{BinaryF1Score()};
  f1.update(SampleIds(at::arange(2)), first().narrow(0, 0, 2),
            second().narrow(0, 0, 2), target().narrow(0, 0, 2));
  EXPECT_THAT(refusal_of([&] { f1.update(first(), second(), target()); }),
              HasSubstr("expected ids, as in earlier updates"));
  f1.update(SampleIds(at::arange(2)), first().narrow(0, 0, 2),
            second().narrow(0, 0, 2), target().narrow(0, 0, 2));
  EXPECT_THAT(refusal_of([&] { f1.compute(); }),
              HasSubstr("ModelComparison: expected each id once, got 0 again"));
}

}  // namespace
}  // namespace tally

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/interval_metric.h"
#include "tally/metrics/intervals/model_comparison.h"
#include "tally/metrics/intervals/paired_tests.h"
#include "tally/metrics/intervals/replicates.h"
#include "tally/metrics/regression/mean_squared_error.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::interval_values;
using testkit::refusal_of;
using testkit::tensor_of;

TEST(McnemarTest, EqualsStatsmodels) {
  for (const auto& each : interval_values()["mcnemar"]) {
    const McnemarResult result = mcnemar(each["first"], each["second"]);
    EXPECT_NEAR(result.exact, each["exact"], 1e-10) << each;
    EXPECT_NEAR(result.mid, each["mid"], 1e-10) << each;
  }
  EXPECT_EQ(mcnemar(0, 0).exact, 1);
  EXPECT_THAT(refusal_of([] { mcnemar(-1, 2); }),
              HasSubstr("expected numbers of at least 0, got -1 and 2"));
}

TEST(CompareAreasTest, EqualsDelongsCovariance) {
  const auto& each = interval_values()["paired_areas"];
  const at::Tensor first = tensor_of(each["first"]);
  const at::Tensor target = tensor_of(each["target"]);
  const AreaComparison areas =
      compare_areas(first, tensor_of(each["second"]), target, 0.95);
  EXPECT_NEAR(areas.difference, each["difference"], 1e-12);
  EXPECT_NEAR(areas.standard_error, each["error"], 1e-12);
  EXPECT_NEAR(areas.p_value, each["p"], 1e-10);
  const double width = 1.959963984540054 * each["error"].get<double>();
  EXPECT_NEAR(areas.low, areas.difference - width, 1e-10);
  EXPECT_NEAR(areas.high, areas.difference + width, 1e-10);
  const AreaComparison same = compare_areas(first, first * 2, target, 0.9);
  EXPECT_EQ(same.difference, 0);
  EXPECT_EQ(same.p_value, 1);
  EXPECT_TRUE(std::isnan(
      compare_areas(first, first, at::ones_like(first), 0.9).p_value));
  EXPECT_THAT(refusal_of([&] {
                compare_areas(first, target.narrow(0, 1, 3), target, 0.9);
              }),
              HasSubstr("delong: expected target of sizes [3]"));
}

constexpr std::int64_t kRows = 300;

at::Tensor waves(double frequency) {
  return at::arange(kRows, at::kDouble).mul(frequency).sin();
}

/// The replicates of a model whose errors are mostly those of another.
Replicates replicates_of(double own,
                         const IntervalOptions& options =
                             IntervalOptions().method(IntervalMethod::kPoisson),
                         std::int64_t first_id = 0) {
  IntervalMetric error(MeanSquaredError(), options);
  error.update(SampleIds(at::arange(first_id, first_id + kRows)),
               waves(1.3) + waves(2.1) * own, at::zeros({kRows}, at::kDouble));
  return error.replicates();
}

TEST(CompareTest, SubtractsWhatIsCommon) {
  const Replicates first = replicates_of(0.1);
  const Replicates second = replicates_of(0.2);
  const auto parts = compare(first, second, 0.95);
  ASSERT_EQ(parts.size(), 1);
  const Comparison& part = parts[0].second;
  const at::Tensor rows = (waves(1.3) + waves(2.1) * 0.1).square() -
                          (waves(1.3) + waves(2.1) * 0.2).square();
  const auto difference = part.difference.item<double>();
  EXPECT_NEAR(difference, rows.mean().item<double>(), 1e-12);
  const double error =
      rows.std().item<double>() / std::sqrt(static_cast<double>(kRows));
  EXPECT_NEAR(part.low.item<double>(), difference - 1.96 * error, 0.3 * error);
  EXPECT_NEAR(part.high.item<double>(), difference + 1.96 * error, 0.3 * error);
  const double p = std::erfc(std::abs(difference) / error / std::sqrt(2.0));
  EXPECT_NEAR(part.p_value.item<double>(), p, 0.05);
  EXPECT_EQ(part.n, kRows);
  EXPECT_EQ(part.method, ComparisonMethod::kPoisson);
  EXPECT_EQ(part.replicates, 1000);
  EXPECT_EQ(part.first.item<double>() - part.second.item<double>(), difference);
  const auto same = compare(first, first, 0.95);
  EXPECT_EQ(same[0].second.p_value.item<double>(), 1);
}

TEST(CompareTest, LeavesOutTheSameBlocks) {
  const auto options =
      IntervalOptions().method(IntervalMethod::kJackknife).blocks(20);
  const Replicates first = replicates_of(0.1, options);
  const Replicates second = replicates_of(0.2, options);
  const Comparison part = compare(first, second, 0.9)[0].second;
  EXPECT_EQ(part.method, ComparisonMethod::kJackknife);
  EXPECT_EQ(part.replicates, 20);
  EXPECT_EQ(part.units, kRows);
  // Of the differences of the values without each block.
  const at::Tensor without =
      first.replicates.value() - second.replicates.value();
  const double error = std::sqrt(
      (without - without.mean()).square().sum().item<double>() * 19 / 20);
  EXPECT_NEAR(part.standard_error.item<double>(), error, 1e-12);
  const auto degrees = part.degrees_of_freedom.item<double>();
  EXPECT_LT(degrees, 19);  // blocks are of unequal sizes
  const double quantile =
      internal::intervals::student_t_quantile(0.95, degrees);
  const auto difference = part.difference.item<double>();
  EXPECT_NEAR(part.low.item<double>(), difference - quantile * error, 1e-12);
  EXPECT_NEAR(part.high.item<double>(), difference + quantile * error, 1e-12);
  const Comparison exact =
      compare(first, second, 1 - part.p_value.item<double>())[0].second;
  // The interval whose level is 1 - p has 0 as an end.
  EXPECT_NEAR(std::min(std::abs(exact.low.item<double>()),
                       std::abs(exact.high.item<double>())),
              0, 1e-10);
  const Comparison same = compare(first, first, 0.9)[0].second;
  EXPECT_EQ(same.p_value.item<double>(), 1);
  EXPECT_TRUE(std::isnan(same.low.item<double>()));
  EXPECT_TRUE(same.flags.contains(IntervalFlag::kNoVariation));
}

TEST(CompareTest, ComparesCorrectRowsAsOneProgramDoes) {
  const at::Tensor target = waves(0.9).gt(0).to(at::kLong);
  const at::Tensor first = waves(1.3).abs(), second = waves(2.1).abs();
  const auto options = IntervalOptions().method(IntervalMethod::kJackknife);
  const auto run = [&](const at::Tensor& preds, bool is_reversed) {
    IntervalMetric accuracy{
        BinaryAccuracy(BinaryAccuracyOptions().ignore_index(5)), options};
    const at::Tensor order =
        is_reversed ? at::arange(kRows).flip(0) : at::arange(kRows);
    at::Tensor own = target.clone();
    own.slice(0, 0, 9).fill_(5);
    accuracy.update(SampleIds(order), preds.index_select(0, order),
                    own.index_select(0, order));
    return parse_replicates(to_text({{"", accuracy.replicates()}}))[0].second;
  };
  const Comparison apart =
      compare(run(first, false), run(second, true), 0.9).value();
  ModelComparison together{
      BinaryAccuracy(BinaryAccuracyOptions().ignore_index(5)),
      ModelComparisonOptions().level(0.9)};
  at::Tensor own = target.clone();
  own.slice(0, 0, 9).fill_(5);
  together.update(first, second, own);
  const Comparison wanted = together.compute().value();
  EXPECT_EQ(apart.method, ComparisonMethod::kMcnemar);
  EXPECT_EQ(apart.counted, kRows - 9);
  EXPECT_EQ(apart.p_number(), wanted.p_number());
  EXPECT_EQ(apart.ends().low, wanted.ends().low);
  EXPECT_EQ(apart.number(), wanted.number());
}

TEST(CompareTest, ReadsBlocksOfVersion1) {
  // As an earlier version wrote them: without units.
  const auto text = [](double first, double second) {
    return R"({"format": "tally replicates", "version": 1, "metrics": [
        {"name": "a", "metric": "A", "method": "jackknife", "seed": 0, "n": 9,
         "digest": 1, "replicates": 3, "parts": [{"name": "", "sizes": [],
         "value": [)" +
           std::to_string(first) + R"(], "replicates": [)" +
           std::to_string(first + 0.1) + ", " + std::to_string(second) + ", " +
           std::to_string(first - 0.2) + "]}]}]}";
  };
  const auto read = [&](double first, double second) {
    return parse_replicates(text(first, second))[0].second;
  };
  const Comparison part = compare(read(3, 2.5), read(2, 2.25), 0.95).value();
  EXPECT_TRUE(part.flags.contains(IntervalFlag::kSummarized));
  EXPECT_EQ(part.degrees_of_freedom.item<double>(), 2);
  EXPECT_FALSE(std::isnan(part.p_value.item<double>()));
}

TEST(CompareTest, ReadsWhatAnotherProgramWrote) {
  const NamedReplicates written = {{"error", replicates_of(0.1)}};
  const NamedReplicates read = parse_replicates(to_text(written));
  ASSERT_EQ(read.size(), 1);
  EXPECT_EQ(read[0].first, "error");
  EXPECT_TRUE(read[0].second.replicates.value().equal(
      written[0].second.replicates.value()));
  EXPECT_EQ(read[0].second.digest, written[0].second.digest);
  EXPECT_EQ(read[0].second.metric, written[0].second.metric);
  EXPECT_EQ(to_text(read), to_text(written));
}

TEST(CompareTest, RefusesOtherTexts) {
  const auto refusal = [](const std::string& text) {
    return refusal_of([&] { parse_replicates(text); });
  };
  EXPECT_THAT(refusal("{"),
              HasSubstr("line 1, column 2: expected a file of replicates, got "
                        "an end that comes too early"));
  EXPECT_THAT(refusal(R"({"format": "tally replicates", "version": 2})"),
              HasSubstr("expected a file of replicates, got: key 'metrics'"));
  EXPECT_THAT(refusal("{}"), HasSubstr("expected the format"));
  EXPECT_THAT(refusal(R"({"format": "tally replicates", "version": 3})"),
              HasSubstr("expected version 1 to 2, got 3, of a newer Tally"));
  const auto metric = [&](const std::string& part) {
    return refusal(R"({"format": "tally replicates", "version": 1, "metrics": [
        {"name": "a", "metric": "A", "method": "poisson", "seed": 0, "n": 2,
         "digest": 1, "replicates": 2, "parts": [)" +
                   part + "]}]}");
  };
  EXPECT_EQ(metric(""), "nothing");
  EXPECT_THAT(
      metric(R"({"name": "", "sizes": [], "value": [1], "replicates": [1]})"),
      HasSubstr("expected 2 numbers, got 1"));
  EXPECT_THAT(
      metric(R"({"name": "", "sizes": [-1], "value": [], "replicates": []})"),
      HasSubstr("expected sizes of at least 0, got -1"));
}

TEST(CompareTest, RefusesOtherRowsAndOtherDraws) {
  const Replicates first = replicates_of(0.1);
  const auto refusal = [&](const Replicates& second, double level = 0.95) {
    return refusal_of([&] { compare(first, second, level); });
  };
  const auto poisson = IntervalOptions().method(IntervalMethod::kPoisson);
  EXPECT_THAT(refusal(replicates_of(0.1, IntervalOptions(poisson).seed(1))),
              HasSubstr("expected the same seed, got 0 and 1"));
  EXPECT_THAT(
      refusal(replicates_of(0.1, IntervalOptions(poisson).replicates(50))),
      HasSubstr("expected the same sizes of replicates, got [1000] and "
                "[50]"));
  EXPECT_THAT(
      refusal(replicates_of(
          0.1, IntervalOptions().method(IntervalMethod::kDoubleOrNothing))),
      HasSubstr("expected the same method"));
  EXPECT_THAT(refusal(replicates_of(0.1, poisson, 1)),
              HasSubstr("expected the same ids of rows"));
  EXPECT_THAT(refusal(first, 2), HasSubstr("expected a level in (0, 1)"));
  Replicates other = first;
  other.metric = "Other()";
  EXPECT_THAT(refusal(other), HasSubstr("expected the same metric"));
  other = first;
  other.n = 2;
  EXPECT_THAT(refusal(other), HasSubstr("expected the same number of rows"));
  IntervalMetric accuracy{BinaryAccuracy()};
  EXPECT_THAT(refusal_of([&] { accuracy.replicates(); }),
              HasSubstr("expected rows, and method poisson, "
                        "double_or_nothing or jackknife, got 0 rows and "
                        "wilson"));
}

RANKS_TEST(CompareRanksTest, ReplicatesEqualThoseOfOneProcess, 1, 2, 3, 5) {
  const Replicates whole = [] {
    MetricOptions alone;
    alone.sync_on_compute(false);
    IntervalMetric error(BinaryAccuracy({}, alone),
                         IntervalOptions().method(IntervalMethod::kPoisson));
    error.update(SampleIds(at::arange(kRows)), waves(1.3).gt(0),
                 waves(2.1).gt(0));
    return error.replicates();
  }();
  IntervalMetric split(BinaryAccuracy(),
                       IntervalOptions().method(IntervalMethod::kPoisson));
  const std::int64_t begin = self.rank() * kRows / self.size();
  const std::int64_t count = (self.rank() + 1) * kRows / self.size() - begin;
  split.update(SampleIds(at::arange(begin, begin + count)),
               waves(1.3).gt(0).narrow(0, begin, count),
               waves(2.1).gt(0).narrow(0, begin, count));
  EXPECT_EQ(to_text({{"", split.replicates()}}), to_text({{"", whole}}));
}

}  // namespace
}  // namespace tally

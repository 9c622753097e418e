#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/equal_error_rate.h"
#include "tally/metrics/classification/fixed_precision_recall.h"
#include "tally/metrics/classification/fixed_sensitivity_specificity.h"
#include "tally/metrics/classification/log_auc.h"
#include "tally/metrics/classification/precision_recall_curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/testing/compare.h"
#include "tally/tests/metrics/classification/run_limits_guard.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::near;
using testkit::same_bits;

constexpr std::int64_t kRows = 60;

at::Tensor runs_of(const Metric& metric) {
  return metric.state()["score_runs"];
}

// In batches of 7 rows.
void update(Metric& metric, const at::Tensor& preds, const at::Tensor& target) {
  for (std::int64_t i = 0; i < preds.size(0); i += 7) {
    const std::int64_t rows = std::min<std::int64_t>(7, preds.size(0) - i);
    const at::Tensor own = preds.narrow(0, i, rows);
    const at::Tensor own_target = target.narrow(0, i, rows);
    metric.update_inputs({InputRef::of(own), InputRef::of(own_target)});
  }
}

template <class M>
void expect_values_of_rows(typename M::Options options, const at::Tensor& preds,
                           const at::Tensor& target) {
  const RunLimitsGuard limits;
  M metric(options);
  M rows(options.keep_rows(true));
  SCOPED_TRACE(metric.repr());
  update(metric, preds, target);
  update(rows, preds, target);
  ASSERT_TRUE(runs_of(metric).defined());
  EXPECT_LT(metric.state()["preds"].size(0), 11);
  EXPECT_FALSE(runs_of(rows).defined());
  EXPECT_GT(rows.state()["preds"].size(0), kRows / 2);
  const bool is_rounded =
      metric.name().find("AveragePrecision") != std::string::npos;
  const Results expected = rows.compute_results();
  const Results values = metric.compute_results();
  ASSERT_EQ(values.size(), expected.size());
  for (const auto& [part, value] : expected) {
    if (is_rounded) {
      EXPECT_TRUE(near(values[part], value, {1e-12, 0})) << part;
    } else {
      EXPECT_TRUE(same_bits(values[part], value)) << part;
    }
  }
}

template <class M>
void expect_binary_values(const at::Tensor& preds, const at::Tensor& target,
                          typename M::Options options = {}) {
  options.ignore_index(-1);
  expect_values_of_rows<M>(options, preds, target);
  expect_values_of_rows<M>(typename M::Options(options).from_logits(),
                           preds.sub(0.5), target);
  expect_values_of_rows<M>(options, preds.to(at::kHalf), target.ne(0));
}

TEST(CurveRunsTest, BinaryMetricsHaveTheValuesOfRows) {
  const at::Tensor preds = at::randint(0, 33, {kRows}, at::kFloat).div(32);
  const at::Tensor target = at::randint(-1, 2, {kRows}, at::kLong);
  expect_binary_values<BinaryAUROC>(preds, target);
  expect_binary_values<BinaryAUROC>(preds, target,
                                    BinaryAUROCOptions().max_fpr(0.4));
  expect_binary_values<BinaryAveragePrecision>(preds, target);
  expect_binary_values<BinaryEER>(preds, target);
  expect_binary_values<BinaryLogAUC>(preds, target);
  expect_binary_values<BinaryROC>(preds, target);
  expect_binary_values<BinaryPrecisionRecallCurve>(preds, target);
  expect_binary_values<BinaryPrecisionAtFixedRecall>(preds, target, 0.5);
  expect_binary_values<BinaryRecallAtFixedPrecision>(preds, target, 0.5);
  expect_binary_values<BinarySensitivityAtSpecificity>(preds, target, 0.5);
  expect_binary_values<BinarySpecificityAtSensitivity>(preds, target, 0.5);
}

template <class M>
void expect_averages(const at::Tensor& preds, const at::Tensor& target,
                     std::initializer_list<Average> averages) {
  for (const Average average : averages) {
    typename M::Options options(preds.size(1));
    options.average(average).ignore_index(-1);
    expect_values_of_rows<M>(options, preds, target);
  }
}

TEST(CurveRunsTest, MetricsOfSeveralCurvesHaveTheValuesOfRows) {
  const at::Tensor scores = at::randint(0, 17, {kRows, 3}, at::kFloat).div(16);
  const at::Tensor classes = at::randint(-1, 3, {kRows}, at::kLong);
  const at::Tensor labels = at::randint(-1, 2, {kRows, 3}, at::kLong);
  const std::initializer_list<Average> all = {
      Average::kMicro, Average::kMacro, Average::kWeighted, Average::kNone};
  expect_averages<MulticlassAUROC>(scores, classes, all);
  expect_averages<MultilabelAUROC>(scores, labels, all);
  expect_averages<MulticlassAveragePrecision>(scores, classes, all);
  expect_averages<MultilabelAveragePrecision>(scores, labels, all);
  expect_averages<MulticlassEER>(scores, classes, all);
  expect_averages<MultilabelEER>(scores, labels, all);
  const std::initializer_list<Average> of_curves = {
      Average::kMicro, Average::kMacro, Average::kNone};
  expect_averages<MulticlassROC>(scores, classes, of_curves);
  expect_averages<MultilabelROC>(scores, labels, of_curves);
  expect_averages<MulticlassPrecisionRecallCurve>(scores, classes, of_curves);
  expect_averages<MultilabelPrecisionRecallCurve>(scores, labels, of_curves);
}

TEST(CurveRunsTest, ANaNMakesItsCurveNaN) {
  const RunLimitsGuard limits;
  at::Tensor preds = at::rand({kRows, 2});
  preds[20][1] = std::nan("");
  const at::Tensor target = at::randint(0, 2, {kRows, 2}, at::kLong);
  MultilabelAUROC auroc(MultilabelAUROCOptions(2).average(Average::kNone));
  update(auroc, preds, target);
  ASSERT_TRUE(runs_of(auroc).defined());
  const at::Tensor values = auroc.compute();
  EXPECT_FALSE(values[0].isnan().item<bool>());
  EXPECT_TRUE(values[1].isnan().item<bool>());
  for (const Average average : {Average::kMicro, Average::kMacro}) {
    MultilabelAUROC one(MultilabelAUROCOptions(2).average(average));
    update(one, preds, target);
    EXPECT_TRUE(one.compute().isnan().item<bool>());
  }
}

TEST(CurveRunsTest, StayRowsWhereRunsDoNotFit) {
  const RunLimitsGuard limits;
  const at::Tensor preds = at::rand({kRows});
  const at::Tensor target = at::randint(0, 2, {kRows}, at::kLong);
  BinaryAUROC wide;
  update(wide, preds.to(at::kDouble), target);
  EXPECT_FALSE(runs_of(wide).defined());
  BinaryAUROC binned(BinaryAUROCOptions().thresholds(5));
  update(binned, preds, target);
  EXPECT_FALSE(runs_of(binned).defined());
  BinaryAUROC weighted;
  for (int i = 0; i < 5; ++i) weighted.update(preds, target, at::rand({kRows}));
  EXPECT_FALSE(runs_of(weighted).defined());
  MulticlassAUROC logits(MulticlassAUROCOptions(3).from_logits());
  update(logits, at::randn({kRows, 3}), at::randint(0, 3, {kRows}, at::kLong));
  EXPECT_FALSE(runs_of(logits).defined());
}

TEST(CurveRunsTest, ComeWithTheRowAfterTheLimit) {
  const RunLimitsGuard limits({20, 10, 5});
  BinaryAUROC auroc;
  const auto add = [&](std::int64_t rows) {
    auroc.update(at::rand({rows}), at::randint(0, 2, {rows}, at::kLong));
  };
  const auto waiting = [&] { return auroc.state()["preds"].size(0); };
  add(20);
  add(1);
  EXPECT_FALSE(runs_of(auroc).defined());
  add(1);  // there were 21
  EXPECT_TRUE(runs_of(auroc).defined());
  EXPECT_EQ(waiting(), 1);
  add(9);
  add(1);
  EXPECT_EQ(waiting(), 11);
  add(2);
  EXPECT_EQ(waiting(), 2);
}

TEST(CurveRunsTest, RefuseAnotherDtypeAsRowsDo) {
  const RunLimitsGuard limits;
  BinaryAUROC auroc;
  const at::Tensor target = at::randint(0, 2, {kRows}, at::kLong);
  update(auroc, at::rand({kRows}), target);
  const std::string before = auroc.serialize();
  EXPECT_THAT(testkit::refusal_of_update<c10::ValueError>(
                  auroc, at::rand({kRows}, at::kDouble), target),
              HasSubstr("state 'preds' holds rows of Float"));
  EXPECT_GE(auroc.update_count(), 1);
}

TEST(CurveRunsTest, MixWithWeights) {
  const at::Tensor preds = at::randint(0, 33, {kRows}, at::kFloat).div(32);
  const at::Tensor target = at::randint(0, 2, {kRows}, at::kLong);
  const at::Tensor weight = at::rand({kRows});
  const auto value = [&] {
    BinaryAUROC auroc;
    update(auroc, preds, target);
    auroc.update(preds.flip(0), target, weight);
    update(auroc, preds.mul(0.5), target);
    return auroc.compute();
  };
  const at::Tensor scores = at::rand({kRows, 3});
  const at::Tensor classes = at::randint(0, 3, {kRows}, at::kLong);
  const auto values = [&](Average average) {
    MulticlassAUROC auroc(MulticlassAUROCOptions(3).average(average));
    update(auroc, scores, classes);
    auroc.update(scores.flip(0), classes, weight);
    return auroc.compute();
  };
  const at::Tensor expected = value();
  const at::Tensor each = values(Average::kNone);
  const at::Tensor micro = values(Average::kMicro);
  const RunLimitsGuard limits;
  EXPECT_TRUE(near(value(), expected, {1e-13, 0}));
  EXPECT_TRUE(near(values(Average::kNone), each, {1e-13, 0}));
  EXPECT_TRUE(near(values(Average::kMicro), micro, {1e-13, 0}));
}

TEST(CurveRunsTest, TravelAsTheyAre) {
  const RunLimitsGuard limits;
  const at::Tensor preds = at::rand({kRows});
  const at::Tensor target = at::randint(0, 2, {kRows}, at::kLong);
  BinaryAUROC whole;
  update(whole, preds, target);
  BinaryAUROC first, second;
  update(first, preds.narrow(0, 0, 25), target.narrow(0, 0, 25));
  update(second, preds.narrow(0, 25, 35), target.narrow(0, 25, 35));
  const double expected = whole.compute().item<double>();
  BinaryAUROC loaded;
  ASSERT_TRUE(loaded.deserialize(first.serialize()).ok());
  // Rows that wait for a run of theirs travel in one.
  EXPECT_GT(first.state()["preds"].size(0), 0);
  EXPECT_EQ(loaded.state()["preds"].size(0), 0);
  EXPECT_EQ(loaded.serialize(), first.serialize());
  loaded.merge_state(second);
  EXPECT_EQ(loaded.compute().item<double>(), expected);
  update(loaded, preds, target);
  const auto copy = loaded.clone();
  EXPECT_EQ(copy->compute_results().begin()->second.item<double>(),
            loaded.compute().item<double>());
  // With the option, another state.
  BinaryAUROC rows(BinaryAUROCOptions().keep_rows(true));
  EXPECT_THAT(rows.deserialize(first.serialize()).ToString(),
              HasSubstr("keep_rows=true"));
}

TEST(CurveRunsTest, FewScoresTakeFewBytes) {
  const RunLimitsGuard limits({1 << 16, 1 << 15, 1 << 12});
  BinaryAUROC auroc;
  for (int i = 0; i < 60; ++i) {
    const at::Tensor logits = at::randn({5000}).to(at::kBFloat16);
    auroc.update(logits.sigmoid(), at::randint(0, 2, {5000}, at::kLong));
  }
  EXPECT_LE(runs_of(auroc).numel(), 30'000);
  EXPECT_LE(auroc.state()["preds"].size(0), 35'000);
}

TEST(CurveRunsTest, RefuseAStateThatDoesNotFit) {
  const RunLimitsGuard limits;
  const BinaryAUROC auroc;
  CurveState state;
  state.unweighted.preds = Rows(at::rand({5}));
  state.unweighted.target = Rows(at::randint(0, 2, {5}, at::kByte));
  state.compact();
  ASSERT_GT(state.runs.size(), 0);
  const at::Tensor bytes = state.runs.tensor();
  const auto refuses = [&](const at::Tensor& other, const char* expected) {
    CurveState broken = state;
    broken.runs = Rows(other);
    broken.unweighted.preds = Rows(at::rand({5}));
    broken.unweighted.target = Rows(at::randint(0, 2, {5}, at::kByte));
    EXPECT_THAT(testkit::refusal_of<c10::ValueError>(
                    [&] { (void)auroc.evaluate(broken); }),
                HasSubstr(expected));
    EXPECT_THAT(testkit::refusal_of<c10::ValueError>([&] { broken.compact(); }),
                HasSubstr(expected));
    EXPECT_EQ(broken.unweighted.preds.size(), 5);
    EXPECT_TRUE(same_bits(broken.runs.tensor(), other));
  };
  refuses(bytes.narrow(0, 0, bytes.numel() - 1), "bytes of its tables");
  refuses(at::cat({bytes, bytes.narrow(0, 0, 9)}), "a header");
  at::Tensor skipped = bytes.clone();
  skipped[bytes.numel() - 1] = 255;
  refuses(skipped, "table of scores");
  refuses(bytes.to(at::kInt), "do not fit together");
  // Runs of another number of curves.
  CurveState labels;
  labels.unweighted.preds = Rows(at::rand({5, 2}));
  labels.unweighted.target = Rows(at::randint(0, 2, {5, 2}, at::kByte));
  labels.compact();
  EXPECT_THAT(testkit::refusal_of<c10::ValueError>(
                  [&] { (void)auroc.evaluate(labels); }),
              HasSubstr("do not fit together"));
  CurveState no_target = state;
  no_target.unweighted.target = Rows();
  no_target.unweighted.preds = Rows(at::rand({5}));
  EXPECT_THAT(testkit::refusal_of<c10::ValueError>(
                  [&] { (void)auroc.evaluate(no_target); }),
              HasSubstr("do not fit together"));
}

}  // namespace
}  // namespace tally

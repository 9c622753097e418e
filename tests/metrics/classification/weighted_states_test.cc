#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/curves/curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/metrics/collection.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::near;
using testkit::refusal_of;
using testkit::same_bits;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(WeightedStatesTest, SmallBatchesDoNotMakeLargeHistograms) {
  constexpr std::int64_t kClasses = 10;
  const auto given =
      MulticlassAUROCOptions(kClasses).thresholds(500).average(Average::kNone);
  const at::Tensor preds = at::rand({400, kClasses});
  const at::Tensor target = at::randint(0, kClasses, {400}, at::kLong);
  const at::Tensor weight = at::rand({400});
  MulticlassAUROC whole(given);
  whole.update(preds, target, weight);
  EXPECT_TRUE(whole.state()["weighted_histogram"].defined());
  EXPECT_FALSE(whole.state()["histogram"].defined());
  MulticlassAUROC batches(given);
  MulticlassAUROC other(given);
  for (std::int64_t i = 0; i < 400; i += 8) {
    (i < 200 ? batches : other)
        .update(preds.narrow(0, i, 8), target.narrow(0, i, 8),
                weight.narrow(0, i, 8));
    const auto state = batches.state();
    EXPECT_LE(state["weighted_places"].defined()
                  ? state["weighted_places"].numel()
                  : 0,
              2 * kClasses * 502 / 8 + 8 * kClasses);
    EXPECT_EQ(state["weighted_places"].defined(), state["weights"].defined());
  }
  EXPECT_TRUE(batches.state()["weighted_histogram"].defined());
  const auto observed = batches.observe(
      preds.narrow(0, 0, 8), target.narrow(0, 0, 8), weight.narrow(0, 0, 8));
  EXPECT_FALSE(observed.weighted.histogram.defined());
  EXPECT_EQ(observed.weighted.places.size(), 8 * kClasses);
  MulticlassAUROC loaded(given);
  ASSERT_TRUE(loaded.deserialize(batches.serialize()).ok());
  loaded.merge_state(other);
  EXPECT_TRUE(near(loaded.compute(), whole.compute(), {1e-12, 0}));
  // With some that have no weights.
  const auto add_plain = [&](MulticlassAUROC& metric) {
    metric.update(preds.narrow(0, 8, 8), target.narrow(0, 8, 8));
  };
  add_plain(loaded);
  EXPECT_TRUE(loaded.state()["places"].defined());
  add_plain(whole);
  EXPECT_TRUE(near(loaded.compute(), whole.compute(), {1e-12, 0}));
}

TEST(WeightedStatesTest, LargeBatchesCountAsSmallOnes) {
  constexpr std::int64_t kRows = 200'000;
  const at::Tensor preds = at::rand({kRows, 3});
  const at::Tensor target = at::randint(0, 2, {kRows, 3}, at::kLong);
  const at::Tensor weight = at::rand({kRows});
  const auto given = MultilabelAUROCOptions(3).thresholds(9);
  MultilabelAUROC small(given);
  for (std::int64_t i = 0; i < kRows; i += 5000) {
    small.update(preds.narrow(0, i, 5000), target.narrow(0, i, 5000),
                 weight.narrow(0, i, 5000));
  }
  at::set_num_threads(3);
  MultilabelAUROC large(given);
  large.update(preds, target, weight);
  EXPECT_TRUE(near(large.compute(), small.compute(), {1e-12, 0}));
  MultilabelAUROC again(given);
  again.update(preds, target, weight);
  EXPECT_TRUE(same_bits(again.state(), large.state()));
  for (const std::int64_t row : {90'001, 150'001}) {
    preds.select(0, row).fill_(1.5);
  }
  EXPECT_THAT(refusal_of([&] { large.update(preds, target, weight); }),
              HasSubstr("got 1.5 at position 270003"));
  at::set_num_threads(1);
}

// Scores of every kind, so that both ways to sort them are seen to agree with
// the definition.
TEST(WeightedStatesTest, RanksScoresOfAllKinds) {
  at::Tensor preds = at::randn({3000}, at::kDouble);
  const std::vector<double> odd = {0.0,    -0.0,    kInfinity, -kInfinity,
                                   1e-310, -1e-310, 1e300,     -1e300};
  for (std::size_t i = 0; i < odd.size(); ++i) {
    preds.select(0, 11 * i).fill_(odd[i]);
    preds.select(0, 11 * i + 1).fill_(odd[i]);
  }
  const at::Tensor target = at::randint(0, 2, {3000}, at::kLong);
  const at::Tensor weight = at::rand({3000}, at::kDouble);
  const at::Tensor own = weight.mul(target);
  const at::Tensor rest = weight.sub(own);
  for (const at::Tensor& scores : {preds, preds.to(at::kFloat)}) {
    BinaryAUROC auroc(BinaryAUROCOptions().input(ScoreKind::kScores));
    auroc.update(scores, target, weight);
    const at::Tensor column = scores.unsqueeze(1);
    const at::Tensor order =
        column.gt(scores).to(at::kDouble).add(column.eq(scores), 0.5);
    const double expected = own.matmul(order)
                                .dot(rest)
                                .div(own.sum().mul(rest.sum()))
                                .item<double>();
    EXPECT_NEAR(auroc.compute().item<double>(), expected, 1e-12);
    // Half is sorted by tensor operations, as scores on a GPU are.
    CurveState state;
    state.weighted.preds = Rows(scores.to(at::kHalf));
    state.weighted.target = Rows(target.to(at::kByte));
    state.weights = Rows(weight);
    CurveState plain = state;
    plain.weighted.preds = Rows(scores.to(at::kHalf).to(scores.dtype()));
    const BinaryROC roc;
    EXPECT_TRUE(
        near(roc.evaluate(state).tpr, roc.evaluate(plain).tpr, {1e-12, 1e-14}));
  }
}

TEST(WeightedStatesTest, StatesThatDoNotFitTogetherAreRefused) {
  const BinaryAUROC exact;
  const auto made = exact.observe(at::rand({3}), at::tensor({0, 1, 1}),
                                  at::tensor({1.0, 2.0, 3.0}));
  const std::vector<std::function<void(CurveState&)>> changes = {
      [](CurveState& s) { s.weights = Rows(); },
      [](CurveState& s) { s.weights = Rows(at::rand({2}, at::kDouble)); },
      [](CurveState& s) { s.weights = Rows(at::rand({3})); },
      [](CurveState& s) {
        s.weights = Rows(at::rand({3, 1}, at::kDouble));
      },
      [](CurveState& s) { s.weighted.target = Rows(); },
      [](CurveState& s) { s.weighted.preds = Rows(); },
      [](CurveState& s) {
        s.weighted.preds = Rows(at::rand({3, 1}));
      },
      [](CurveState& s) {
        s.weighted.target = Rows(at::tensor({0, 1, 1}));
      },
      [](CurveState& s) { s.unweighted.preds = Rows(at::rand({3})); },
      [](CurveState& s) {
        s.weighted.histogram = at::zeros({1, 2, 3});
      },
      [](CurveState& s) {
        s.weighted.histogram = at::zeros({2, 2, 3}, at::kDouble);
      }};
  for (const auto& change : changes) {
    CurveState state = made;
    change(state);
    EXPECT_THROW(exact.evaluate(state), c10::ValueError);
  }
  const MulticlassAUROC binned(MulticlassAUROCOptions(3).thresholds(500));
  const auto places = binned.observe(at::rand({2, 3}), at::tensor({0, 1}),
                                     at::tensor({1.0, 2.0}));
  ASSERT_EQ(places.weighted.places.size(), 6);
  const std::vector<std::function<void(CurveState&)>> binned_changes = {
      [](CurveState& s) { s.weights = Rows(); },
      [](CurveState& s) { s.weights = Rows(at::rand({2}, at::kDouble)); },
      [](CurveState& s) { s.weights = Rows(at::rand({6})); },
      [](CurveState& s) {
        s.weighted.places = Rows(at::full({6}, 3012, at::kInt));
      },
      [](CurveState& s) {
        s.weighted.places = Rows(at::full({6}, -1, at::kInt));
      },
      [](CurveState& s) {
        s.weighted.places = Rows(at::full({6}, 1, at::kLong));
      },
      [](CurveState& s) { s.columns = 0; },
      [](CurveState& s) {
        s.unweighted.histogram = at::zeros({3, 2, 4}, at::kLong);
      }};
  for (const auto& change : binned_changes) {
    CurveState state = places;
    change(state);
    EXPECT_THROW(binned.evaluate(state), c10::ValueError);
  }
}

TEST(WeightedStatesTest, MetricsOfACollectionShareOneState) {
  MetricCollection metrics;
  metrics.add("auroc", BinaryAUROC());
  metrics.add("precision", BinaryAveragePrecision());
  metrics.add("roc", BinaryROC());
  const at::Tensor preds = at::rand({30});
  const at::Tensor target = at::randint(0, 2, {30}, at::kLong);
  const at::Tensor weight = at::rand({30});
  metrics.update(preds, target, weight);
  EXPECT_EQ(metrics.groups().size(), 1);
  BinaryAveragePrecision alone;
  alone.update(preds, target, weight);
  EXPECT_TRUE(same_bits(metrics.compute()["precision"], alone.compute()));
}

}  // namespace
}  // namespace tally

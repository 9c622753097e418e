// Bounds of areas that bins leave.

#include "tally/metrics/classification/area_bounds.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/collection.h"
#include "tally/tests/testing/metric_harness.h"

namespace tally {
namespace {

using testkit::check_metric;

TEST(AreaBoundsTest, AUROCPassesTheHarness) {
  check_metric<BinaryAUROCBounds>("BinaryAUROCBounds");
  check_metric<MulticlassAUROCBounds>("MulticlassAUROCBounds");
  check_metric<MultilabelAUROCBounds>("MultilabelAUROCBounds");
}
TEST(AreaBoundsTest, AveragePrecisionPassesTheHarness) {
  check_metric<BinaryAveragePrecisionBounds>("BinaryAveragePrecisionBounds");
  check_metric<MulticlassAveragePrecisionBounds>(
      "MulticlassAveragePrecisionBounds");
  check_metric<MultilabelAveragePrecisionBounds>(
      "MultilabelAveragePrecisionBounds");
}

// A sample's bin, the higher the better, its place within it, and its class.
struct Sample {
  int bin;
  int place;
  bool positive;

  std::pair<int, int> score() const { return {bin, place}; }
};

// By their definitions.
double area_of(const std::vector<Sample>& samples) {
  double pairs = 0;
  double in_order = 0;
  for (const Sample& p : samples) {
    for (const Sample& n : samples) {
      if (!p.positive || n.positive) continue;
      ++pairs;
      if (p.score() > n.score()) ++in_order;
      if (p.score() == n.score()) in_order += 0.5;
    }
  }
  return in_order / pairs;
}
double average_precision_of(const std::vector<Sample>& samples) {
  double positives = 0;
  double sum = 0;
  for (const Sample& at : samples) {
    if (!at.positive) continue;
    double tp = 0;
    double predicted = 0;
    for (const Sample& other : samples) {
      if (other.score() < at.score()) continue;
      ++predicted;
      if (other.positive) ++tp;
    }
    sum += tp / predicted;
    ++positives;
  }
  return sum / positives;
}

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();

  void add(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
};

// Calls visit() with every order of the samples within their bins, some of them
// at the same place: places below the number of samples are enough for all.
template <class Visit>
void for_each_order(std::vector<Sample>& samples, std::size_t next,
                    const Visit& visit) {
  if (next == samples.size()) {
    visit();
    return;
  }
  const auto in_bin = std::count_if(
      samples.begin(), samples.end(),
      [&](const Sample& sample) { return sample.bin == samples[next].bin; });
  for (int place = 0; place < in_bin; ++place) {
    samples[next].place = place;
    for_each_order(samples, next + 1, visit);
  }
}

// In the middle of the bin, between thresholds i / 4.
at::Tensor scores_of(const std::vector<Sample>& samples) {
  std::vector<double> scores;
  for (const Sample& sample : samples) {
    scores.push_back(0.25 * sample.bin + 0.1);
  }
  return at::tensor(scores, at::kDouble);
}

template <class Metric>
AreaBounds bounds_of(const at::Tensor& preds, const at::Tensor& target,
                     const BinaryAreaBoundsOptions& options =
                         BinaryAreaBoundsOptions().thresholds(5),
                     const at::Tensor& weight = {}) {
  Metric metric(options);
  metric.update(preds, target, weight);
  return metric.compute();
}

void expect_range(const AreaBounds& bounds, const Range& range) {
  EXPECT_NEAR(bounds.lower.item<double>(), range.least, 1e-12);
  EXPECT_NEAR(bounds.upper.item<double>(), range.greatest, 1e-12);
}

// Two to six samples in up to 4 bins, in every order.
TEST(AreaBoundsTest, AreTheExtremesOfAllOrders) {
  at::manual_seed(11);
  for (int round = 0; round < 150; ++round) {
    const int size = 2 + round % 5;
    const at::Tensor bins = at::randint(0, 1 + round % 4, {size}, at::kLong);
    const at::Tensor target = at::randint(0, 2, {size}, at::kLong);
    std::vector<Sample> samples;
    for (int i = 0; i < size; ++i) {
      samples.push_back({static_cast<int>(bins[i].item<std::int64_t>()), 0,
                         target[i].item<std::int64_t>() == 1});
    }
    const auto positives = target.sum().item<std::int64_t>();
    if (positives == 0) continue;
    Range areas;
    Range precisions;
    for_each_order(samples, 0, [&] {
      if (positives < size) areas.add(area_of(samples));
      precisions.add(average_precision_of(samples));
    });
    const at::Tensor preds = scores_of(samples);
    expect_range(bounds_of<BinaryAveragePrecisionBounds>(preds, target),
                 precisions);
    if (positives == size) continue;
    const AreaBounds bounds = bounds_of<BinaryAUROCBounds>(preds, target);
    expect_range(bounds, areas);
    EXPECT_NEAR(bounds.value.item<double>(), (areas.least + areas.greatest) / 2,
                1e-12);
    if (HasFailure()) return;
  }
}

template <class Exact>
double exact_of(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) {
  Exact metric;
  metric.update(preds, target, weight);
  return metric.compute().template item<double>();
}

void expect_inside(double exact, const AreaBounds& bounds) {
  EXPECT_GE(exact, bounds.lower.item<double>() - 1e-12);
  EXPECT_LE(exact, bounds.upper.item<double>() + 1e-12);
  EXPECT_GE(bounds.value.item<double>(), bounds.lower.item<double>() - 1e-12);
  EXPECT_LE(bounds.value.item<double>(), bounds.upper.item<double>() + 1e-12);
}

TEST(AreaBoundsTest, ContainTheExactValue) {
  at::manual_seed(12);
  for (const int size : {3, 30, 1000, 20'000}) {
    for (const Thresholds& thresholds :
         {Thresholds(2), Thresholds(7), Thresholds(200),
          Thresholds({0.3, 0.4, 0.9})}) {
      const at::Tensor target =
          at::cat({at::ones({1}, at::kLong), at::zeros({1}, at::kLong),
                   at::randint(0, 2, {size - 2}, at::kLong)});
      const at::Tensor preds =
          at::randn({size}, at::kDouble).add(target).sigmoid();
      const at::Tensor some_ties = preds.mul(50).round().div(50);
      const at::Tensor weight = at::rand({size}, at::kDouble).add(0.01);
      const auto options = BinaryAreaBoundsOptions().thresholds(thresholds);
      for (const at::Tensor& scores : {preds, some_ties}) {
        for (const at::Tensor& weights : {at::Tensor(), weight}) {
          expect_inside(
              exact_of<BinaryAUROC>(scores, target, weights),
              bounds_of<BinaryAUROCBounds>(scores, target, options, weights));
          expect_inside(
              exact_of<BinaryAveragePrecision>(scores, target, weights),
              bounds_of<BinaryAveragePrecisionBounds>(scores, target, options,
                                                      weights));
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST(AreaBoundsTest, ContainTheExactAverages) {
  at::manual_seed(13);
  const at::Tensor preds = at::randn({500, 3}).softmax(1);
  const at::Tensor classes = at::randint(0, 3, {500}, at::kLong);
  for (const Average average :
       {Average::kMicro, Average::kMacro, Average::kWeighted}) {
    MulticlassAUROC exact(MulticlassAUROCOptions(3).average(average));
    MulticlassAUROCBounds bounds(
        MulticlassAreaBoundsOptions(3).average(average).thresholds(20));
    exact.update(preds, classes);
    bounds.update(preds, classes);
    expect_inside(exact.compute().item<double>(), bounds.compute());
  }
}

// Of many positives in a bin: the sum by its definition.
TEST(AreaBoundsTest, ManyPositivesInABin) {
  for (const std::int64_t before : {0, 3, 400}) {
    for (const std::int64_t positives : {1, 255, 256, 5000, 300'000}) {
      const std::int64_t negatives = 7;
      const at::Tensor preds =
          at::cat({at::full({before}, 0.9, at::kDouble),
                   at::full({positives + negatives}, 0.1, at::kDouble)});
      const at::Tensor target =
          at::cat({at::ones({before + positives}), at::zeros({negatives})});
      double sum = static_cast<double>(before);
      for (std::int64_t k = 1; k <= positives; ++k) {
        sum += static_cast<double>(before + k) /
               static_cast<double>(before + k + negatives);
      }
      const AreaBounds bounds =
          bounds_of<BinaryAveragePrecisionBounds>(preds, target);
      const double expected = sum / static_cast<double>(before + positives);
      EXPECT_NEAR(bounds.lower.item<double>(), expected, 1e-14 * expected)
          << before << ", " << positives;
      EXPECT_DOUBLE_EQ(bounds.upper.item<double>(), 1);
    }
  }
}

TEST(AreaBoundsTest, ShareTheStateOfTheValue) {
  const auto options = BinaryAreaBoundsOptions().thresholds(9);
  const BinaryAUROC auroc(BinaryAUROCOptions().thresholds(9));
  EXPECT_EQ(BinaryAUROCBounds(options).state_key(), auroc.state_key());
  EXPECT_EQ(BinaryAveragePrecisionBounds(options).state_key(),
            auroc.state_key());
}

TEST(AreaBoundsTest, AreUndefinedWithTheValue) {
  for (const Thresholds& thresholds : {Thresholds(), Thresholds(5)}) {
    const auto options = BinaryAreaBoundsOptions().thresholds(thresholds);
    BinaryAUROCBounds auroc(options);
    BinaryAveragePrecisionBounds precision(options);
    for (int step = 0; step < 2; ++step) {
      for (const AreaBounds& bounds : {auroc.compute(), precision.compute()}) {
        EXPECT_TRUE(std::isnan(bounds.value.item<double>()));
        EXPECT_TRUE(std::isnan(bounds.lower.item<double>()));
        EXPECT_TRUE(std::isnan(bounds.upper.item<double>()));
      }
      auroc.update(at::rand({4}), at::zeros({4}));
      precision.update(at::rand({4}), at::zeros({4}));
    }
  }
}

}  // namespace
}  // namespace tally

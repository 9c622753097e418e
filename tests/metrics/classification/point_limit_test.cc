// max_points of ROC and precision-recall curves.

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/classification/precision_recall_curve.h"
#include "tally/metrics/classification/roc.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::near;
using testkit::refusal_of;

using Point = std::pair<double, double>;
using Line = std::vector<Point>;

// The distance, in the axis in which it is greater, of a point from a segment:
// where it is least as a function of the place on the segment, the distances in
// both axes are equal, or one is 0, or it is an end.
double distance(const Point& point, const Point& from, const Point& to) {
  const double x = from.first - point.first;
  const double y = from.second - point.second;
  const double dx = to.first - from.first;
  const double dy = to.second - from.second;
  double least = std::max(std::abs(x), std::abs(y));
  for (const double place :
       {1.0, -x / dx, -y / dy, (y - x) / (dx - dy), -(x + y) / (dx + dy)}) {
    if (!(place >= 0 && place <= 1)) continue;
    least = std::min(
        least, std::max(std::abs(x + place * dx), std::abs(y + place * dy)));
  }
  return least;
}

double distance(const Point& point, const Line& line) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    least = std::min(least, distance(point, line[i], line[i + 1]));
  }
  return least;
}

Line line_of(const at::Tensor& x, const at::Tensor& y) {
  Line line;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    line.emplace_back(x[i].item<double>(), y[i].item<double>());
  }
  return line;
}

// Each y lasts from its x to the next smaller one.
Line steps_of(const Line& line) {
  Line steps{line.front()};
  for (std::size_t i = 1; i < line.size(); ++i) {
    steps.emplace_back(line[i].first, line[i - 1].second);
    steps.push_back(line[i]);
  }
  return steps;
}

bool is_number(const Point& point) {
  return !std::isnan(point.first) && !std::isnan(point.second);
}
bool same(const Point& a, const Point& b) {
  const auto equal = [](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y));
  };
  return equal(a.first, b.first) && equal(a.second, b.second);
}

void expect_near_line(const Line& all, const Line& kept, std::int64_t n) {
  Line drawn;
  std::copy_if(kept.begin(), kept.end(), std::back_inserter(drawn), is_number);
  for (const Point& point : all) {
    if (!is_number(point)) continue;
    EXPECT_LE(distance(point, drawn), 1.0 / static_cast<double>(n) + 1e-12)
        << point.first << ", " << point.second;
  }
}

// The points that stay are those of the whole curve, with the first and the
// last of it.
void expect_part(const Line& all, const Line& kept) {
  EXPECT_TRUE(same(all.front(), kept.front()));
  EXPECT_TRUE(same(all.back(), kept.back()));
  auto next = all.begin();
  for (const Point& point : kept) {
    next = std::find_if(next, all.end(),
                        [&](const Point& other) { return same(point, other); });
    ASSERT_NE(next, all.end()) << point.first << ", " << point.second;
    ++next;
  }
}

// Rows of a result that are padded with NaN.
at::Tensor row(const at::Tensor& rows, std::int64_t i, std::int64_t end) {
  return rows.dim() == 1 ? rows : rows[i].narrow(0, 0, end);
}
std::int64_t end_of(const at::Tensor& thresholds, std::int64_t i) {
  if (thresholds.dim() == 1) return thresholds.size(0);
  return thresholds[i].isnan().logical_not().sum().item<std::int64_t>();
}

void expect_limited(const RocCurve& all, const RocCurve& kept, std::int64_t n) {
  const std::int64_t rows = all.fpr.dim() == 1 ? 1 : all.fpr.size(0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t end = end_of(all.thresholds, i);
    const std::int64_t kept_end = end_of(kept.thresholds, i);
    const Line line = line_of(row(all.fpr, i, end), row(all.tpr, i, end));
    const Line part =
        line_of(row(kept.fpr, i, kept_end), row(kept.tpr, i, kept_end));
    EXPECT_LE(part.size(), static_cast<std::size_t>(n + 1));
    expect_part(line, part);
    expect_part(
        line_of(row(all.thresholds, i, end), row(all.fpr, i, end)),
        line_of(row(kept.thresholds, i, kept_end), row(kept.fpr, i, kept_end)));
    if (is_number(line.front())) expect_near_line(line, part, n);
  }
}

void expect_limited(const PrecisionRecall& all, const PrecisionRecall& kept,
                    std::int64_t n) {
  const std::int64_t rows = all.recall.dim() == 1 ? 1 : all.recall.size(0);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t end = end_of(all.thresholds, i) + 1;
    const std::int64_t kept_end = end_of(kept.thresholds, i) + 1;
    const Line line =
        line_of(row(all.recall, i, end), row(all.precision, i, end));
    const Line part = line_of(row(kept.recall, i, kept_end),
                              row(kept.precision, i, kept_end));
    EXPECT_LE(part.size(), static_cast<std::size_t>(2 * n + 4));
    expect_part(line, part);
    if (!is_number(line[0])) continue;
    expect_near_line(line, part, n);
    // Drawn as steps.
    Line numbers;
    for (const Point& point : part) {
      if (is_number(point)) numbers.push_back(point);
    }
    expect_near_line(line, steps_of(numbers), n);
  }
}

struct Data {
  std::string name;
  at::Tensor preds;
  at::Tensor target;
};

// Blocks of one class, each twice as long as the one before: precision rises
// and falls by a third, at ever smaller recalls.
Data waves() {
  std::vector<at::Tensor> blocks;
  for (int i = 0; i < 11; ++i) {
    blocks.push_back(at::full({std::int64_t{1} << i}, i % 2, at::kLong));
  }
  const at::Tensor target = at::cat(blocks);
  return {"waves", at::linspace(1, 0, target.numel(), at::kDouble), target};
}

std::vector<Data> binary_data() {
  at::manual_seed(7);
  const at::Tensor alternating = at::arange(600).remainder(2);
  const at::Tensor falling = at::linspace(1, 0, 600, at::kDouble);
  std::vector<Data> list{
      waves(),
      {"alternating", falling, alternating},
      {"perfect", falling, at::arange(600).lt(200).to(at::kLong)},
      {"reversed", falling, at::arange(600).gt(200).to(at::kLong)},
      {"all equal", at::full({50}, 0.5), at::randint(0, 2, {50}, at::kLong)},
      {"only positives", at::rand({50}), at::ones({50}, at::kLong)},
      {"only negatives", at::rand({50}), at::zeros({50}, at::kLong)},
      {"one row", at::full({1}, 0.5), at::ones({1}, at::kLong)},
      {"two rows", at::arange(2).div(2), at::arange(2)}};
  for (const int size : {3, 10, 100, 3000}) {
    for (const double shift : {0.0, 0.5, 2.0}) {
      const at::Tensor target = at::rand({size}).lt(0.3).to(at::kLong);
      const at::Tensor scores =
          at::randn({size}, at::kDouble).add(target, shift).sigmoid();
      list.push_back({"random", scores, target});
      list.push_back({"with ties", scores.mul(20).round().div(20), target});
      list.push_back(
          {"few positives", scores, at::rand({size}).lt(0.01).to(at::kLong)});
    }
  }
  return list;
}

template <class Metric>
auto curve_of(typename Metric::Options options,
              const std::vector<at::Tensor>& inputs) {
  Metric metric(options);
  if (inputs.size() == 2) metric.update(inputs[0], inputs[1]);
  if (inputs.size() == 3) metric.update(inputs[0], inputs[1], inputs[2]);
  return metric.compute();
}

template <class Metric>
void check(const typename Metric::Options& options,
           const std::vector<at::Tensor>& inputs) {
  for (const std::int64_t n : {2, 3, 10, 57, 1000}) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__,
                                       "max_points " + std::to_string(n));
    auto limited = options;
    limited.max_points(n);
    expect_limited(curve_of<Metric>(options, inputs),
                   curve_of<Metric>(limited, inputs), n);
  }
}

TEST(PointLimitTest, WhatIsLeftOutIsNearTheLine) {
  for (const Data& data : binary_data()) {
    SCOPED_TRACE(data.name + " of " + std::to_string(data.preds.numel()));
    const std::vector<at::Tensor> inputs{data.preds, data.target};
    check<BinaryROC>({}, inputs);
    check<BinaryROC>(BinaryROCOptions().thresholds(40), inputs);
    check<BinaryPrecisionRecallCurve>({}, inputs);
    for (const double zero_division : {0.0, 1.0, std::nan("")}) {
      check<BinaryPrecisionRecallCurve>(
          BinaryPrecisionRecallCurveOptions().thresholds(40).zero_division(
              zero_division),
          {data.preds.mul(0.5), data.target});
    }
    const at::Tensor weights = at::rand({data.target.numel()}, at::kDouble);
    check<BinaryROC>({}, {data.preds, data.target, weights});
    check<BinaryPrecisionRecallCurve>({}, {data.preds, data.target, weights});
    if (HasFailure()) return;
  }
}

TEST(PointLimitTest, HoldsForEachClassLabelAndAverage) {
  at::manual_seed(8);
  const at::Tensor preds = at::randn({400, 3}).softmax(1);
  const at::Tensor classes = at::randint(0, 3, {400}, at::kLong);
  const at::Tensor labels = at::randint(0, 2, {400, 3}, at::kLong);
  for (const Average average :
       {Average::kNone, Average::kMicro, Average::kMacro}) {
    check<MulticlassROC>(MulticlassROCOptions(3).average(average),
                         {preds, classes});
    check<MultilabelROC>(MultilabelROCOptions(3).average(average),
                         {preds, labels});
    check<MulticlassPrecisionRecallCurve>(
        MulticlassPrecisionRecallCurveOptions(3).average(average),
        {preds, classes});
    check<MultilabelPrecisionRecallCurve>(
        MultilabelPrecisionRecallCurveOptions(3).average(average),
        {preds, labels});
  }
}

// By hand, with tolerance 1/2: the rectangle from (0, 0) to (1/2, 1) is near
// its diagonal, 1/2 * 1 <= 1/2 * 3/2; that to (1, 1) is, too.
TEST(PointLimitTest, IsThatOfTheExample) {
  const at::Tensor preds = at::tensor({0.9, 0.8, 0.7, 0.6}, at::kDouble);
  const at::Tensor target = at::tensor({1, 1, 0, 0});
  const RocCurve curve =
      curve_of<BinaryROC>(BinaryROCOptions().max_points(2), {preds, target});
  EXPECT_TRUE(near(curve.fpr, at::tensor({0.0, 1.0}, at::kDouble)));
  EXPECT_TRUE(near(curve.tpr, at::tensor({0.0, 1.0}, at::kDouble)));
  EXPECT_EQ(curve.thresholds[1].item<double>(), 0.6);
  // With 1/4 that to (1/2, 1) is not, and the corner (0, 1) stays.
  const RocCurve finer =
      curve_of<BinaryROC>(BinaryROCOptions().max_points(4), {preds, target});
  EXPECT_TRUE(near(finer.fpr, at::tensor({0.0, 0.0, 1.0}, at::kDouble)));
  EXPECT_TRUE(near(finer.tpr, at::tensor({0.0, 1.0, 1.0}, at::kDouble)));
  EXPECT_EQ(finer.thresholds[1].item<double>(), 0.8);
}

TEST(PointLimitTest, ManyPointsBecomeFew) {
  at::manual_seed(9);
  const at::Tensor target = at::rand({100'000}).lt(0.2).to(at::kLong);
  const at::Tensor preds =
      at::randn({100'000}, at::kDouble).add(target).sigmoid();
  const RocCurve roc =
      curve_of<BinaryROC>(BinaryROCOptions().max_points(100), {preds, target});
  EXPECT_GT(roc.fpr.size(0), 30);
  EXPECT_LE(roc.fpr.size(0), 101);
  const PrecisionRecall pr = curve_of<BinaryPrecisionRecallCurve>(
      BinaryPrecisionRecallCurveOptions().max_points(100), {preds, target});
  EXPECT_GT(pr.recall.size(0), 30);
  EXPECT_LE(pr.recall.size(0), 204);
  EXPECT_EQ(pr.thresholds.size(0), pr.recall.size(0) - 1);
}

TEST(PointLimitTest, FewerThanTwoAreRefused) {
  for (const std::int64_t n : {-1, 0, 1}) {
    EXPECT_THAT(
        refusal_of([&] { BinaryROC(BinaryROCOptions().max_points(n)); }),
        HasSubstr("BinaryROC: expected max_points of at least 2, got " +
                  std::to_string(n)));
    EXPECT_THAT(refusal_of([&] {
                  MultilabelPrecisionRecallCurve(
                      MultilabelPrecisionRecallCurveOptions(3).max_points(n));
                }),
                HasSubstr("expected max_points of at least 2"));
  }
}

}  // namespace
}  // namespace tally

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/segmentation/average_symmetric_surface_distance.h"
#include "tally/metrics/segmentation/boundary_f1.h"
#include "tally/metrics/segmentation/hausdorff_distance.h"
#include "tally/metrics/segmentation/normalized_surface_distance.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr auto kIndex = SegmentationFormat::kIndex;

using AverageDistanceOptions = AverageSymmetricSurfaceDistanceOptions;

TEST(SurfacesTest, HausdorffPassesTheHarness) {
  testkit::check_metric<HausdorffDistance>("HausdorffDistance");
}
TEST(SurfacesTest, AverageDistancePassesTheHarness) {
  testkit::check_metric<AverageSymmetricSurfaceDistance>(
      "AverageSymmetricSurfaceDistance");
}
TEST(SurfacesTest, NormalizedDistancePassesTheHarness) {
  testkit::check_metric<NormalizedSurfaceDistance>("NormalizedSurfaceDistance");
}
TEST(SurfacesTest, BoundaryF1PassesTheHarness) {
  testkit::check_metric<BoundaryF1>("BoundaryF1");
}

// MONAI's values of the same things.
TEST(SurfacesTest, AgreesWithMonai) {
  testkit::check_metric<HausdorffDistance>("peers/HausdorffDistance");
  testkit::check_metric<AverageSymmetricSurfaceDistance>(
      "peers/AverageSymmetricSurfaceDistance");
  testkit::check_metric<NormalizedSurfaceDistance>(
      "peers/NormalizedSurfaceDistance");
}

HausdorffDistanceOptions hausdorff() {
  return HausdorffDistanceOptions(2).input_format(kIndex);
}
AverageDistanceOptions average() {
  return AverageDistanceOptions(2).input_format(kIndex);
}
NormalizedSurfaceDistanceOptions normalized(double tolerance) {
  return NormalizedSurfaceDistanceOptions(2, tolerance).input_format(kIndex);
}

template <class M>
SegmentationScore score_of(const typename M::Options& options,
                           const at::Tensor& preds, const at::Tensor& target) {
  M metric(options);
  return metric.forward(preds, target);
}
template <class M>
double value_of(const typename M::Options& options, const at::Tensor& preds,
                const at::Tensor& target) {
  return score_of<M>(options, preds, target).value.template item<double>();
}

// One image with a square of ones.
at::Tensor square(std::int64_t height, std::int64_t width, std::int64_t begin,
                  std::int64_t size) {
  at::Tensor image = at::zeros({1, height, width}, at::kLong);
  image.narrow(1, begin, size).narrow(2, begin, size).fill_(1);
  return image;
}

TEST(SurfacesTest, AnOutlierWeighsByItsSurface) {
  const at::Tensor target = square(40, 40, 2, 12);
  at::Tensor preds = target.clone();
  preds[0][24][24] = 1;
  const auto hd95 = hausdorff().percentile(95);
  EXPECT_EQ(value_of<HausdorffDistance>(hd95, preds, target), 0);
  EXPECT_NEAR(value_of<HausdorffDistance>(
                  HausdorffDistanceOptions(hd95).surface(Surface::kElement),
                  preds, target),
              10 * std::sqrt(2), 1e-6);
  EXPECT_NEAR(value_of<NormalizedSurfaceDistance>(normalized(1), preds, target),
              88.0 / 89, 1e-15);
  EXPECT_NEAR(value_of<NormalizedSurfaceDistance>(
                  normalized(1).surface(Surface::kElement), preds, target),
              0.971, 5e-4);
}

TEST(SurfacesTest, OutsideOfTheImageIsBackground) {
  const at::Tensor all = at::ones({1, 9, 9}, at::kLong);
  const at::Tensor part = square(9, 9, 2, 5);
  for (const auto surface : {Surface::kVoxel, Surface::kElement}) {
    EXPECT_NEAR(
        value_of<HausdorffDistance>(hausdorff().surface(surface), all, part),
        std::sqrt(8), 1e-6);
  }
  // Each is the other's complement, which is no surface for DAVIS.
  BoundaryF1 f1(BoundaryF1Options(2).input_format(kIndex).count_cases(true));
  EXPECT_EQ(f1.forward(all, all).cases.item<std::int64_t>(), 0);
}

TEST(SurfacesTest, ImagesNeedNotBeSquare) {
  at::Tensor preds = at::zeros({1, 12, 30}, at::kLong);
  at::Tensor target = preds.clone();
  preds[0][5][4] = 1;
  target[0][5][23] = 1;
  EXPECT_EQ(value_of<HausdorffDistance>(hausdorff(), preds, target), 19);
  EXPECT_EQ(value_of<HausdorffDistance>(hausdorff(), preds.transpose(1, 2),
                                        target.transpose(1, 2)),
            19);
}

TEST(SurfacesTest, ToleranceTakesRoundingIntoAccount) {
  at::Tensor preds = at::zeros({1, 1, 9}, at::kLong);
  at::Tensor target = preds.clone();
  preds[0][0][2] = 1;
  target[0][0][5] = 1;
  const auto options = normalized(0.3).spacing(std::vector<double>{0.1, 0.1});
  EXPECT_EQ(value_of<NormalizedSurfaceDistance>(options, preds, target), 1);
  EXPECT_EQ(value_of<NormalizedSurfaceDistance>(
                NormalizedSurfaceDistanceOptions(options).tolerance(0.2999),
                preds, target),
            0);
}

TEST(SurfacesTest, PercentileZeroIsOne) {
  const at::Tensor target = square(20, 20, 2, 6);
  at::Tensor preds = target.clone();
  preds[0][15][15] = 1;
  EXPECT_EQ(
      value_of<HausdorffDistance>(hausdorff().percentile(0), preds, target), 0);
  EXPECT_GT(value_of<HausdorffDistance>(hausdorff(), preds, target), 5);
}

TEST(SurfacesTest, PercentilesAreOfEachDirectionOrOfBoth) {
  // From the longer one only a part is far away.
  at::Tensor preds = at::zeros({1, 1, 40}, at::kLong);
  at::Tensor target = preds.clone();
  preds.narrow(2, 0, 30).fill_(1);
  target.narrow(2, 0, 10).fill_(1);
  const auto options = hausdorff().percentile(50);
  EXPECT_NEAR(value_of<HausdorffDistance>(options, preds, target), 5.5, 1e-12);
  EXPECT_NEAR(value_of<HausdorffDistance>(
                  HausdorffDistanceOptions(options).percentile_of(
                      PercentileOf::kPooled),
                  preds, target),
              0.5, 1e-12);
  EXPECT_EQ(
      value_of<HausdorffDistance>(
          HausdorffDistanceOptions(options).directed(true), target, preds),
      0);
}

TEST(SurfacesTest, EmptyMasksAreNeverNaN) {
  const at::Tensor nothing = at::zeros({1, 8, 8}, at::kLong);
  const at::Tensor something = square(8, 8, 2, 3);
  for (const auto& [preds, target] :
       {std::pair(nothing, something), std::pair(something, nothing)}) {
    EXPECT_EQ(value_of<HausdorffDistance>(hausdorff(), preds, target),
              kInfinity);
    EXPECT_EQ(
        value_of<HausdorffDistance>(hausdorff().percentile(95), preds, target),
        kInfinity);
    EXPECT_EQ(value_of<HausdorffDistance>(hausdorff().empty_penalty(40), preds,
                                          target),
              40);
    EXPECT_EQ(
        value_of<AverageSymmetricSurfaceDistance>(average(), preds, target),
        kInfinity);
    EXPECT_EQ(value_of<AverageSymmetricSurfaceDistance>(
                  average().empty_penalty(9), preds, target),
              9);
    EXPECT_EQ(value_of<NormalizedSurfaceDistance>(normalized(1), preds, target),
              0);
    EXPECT_EQ(value_of<BoundaryF1>(BoundaryF1Options(2).input_format(kIndex),
                                   preds, target),
              0);
  }
}

TEST(SurfacesTest, BothEmptyIsSkippedAndCounted) {
  const at::Tensor nothing = at::zeros({2, 8, 8}, at::kLong);
  at::Tensor preds = nothing.clone();
  at::Tensor target = nothing.clone();
  preds[0][2][2] = 1;
  target[0][2][5] = 1;
  const SegmentationScore score =
      score_of<HausdorffDistance>(hausdorff().count_cases(true), preds, target);
  EXPECT_EQ(score.value.item<double>(), 3);
  EXPECT_EQ(score.cases.item<std::int64_t>(), 1);
  EXPECT_EQ(value_of<HausdorffDistance>(hausdorff().absent(AbsentClass::kZero),
                                        preds, target),
            1.5);
  EXPECT_TRUE(
      std::isnan(value_of<HausdorffDistance>(hausdorff(), nothing, nothing)));
  EXPECT_EQ(value_of<NormalizedSurfaceDistance>(
                normalized(1).absent(AbsentClass::kOne), nothing, nothing),
            1);
  EXPECT_EQ(
      value_of<BoundaryF1>(
          BoundaryF1Options(2).input_format(kIndex).absent(AbsentClass::kOne),
          nothing, nothing),
      1);
}

TEST(SurfacesTest, WhatIsAroundDoesNotMatter) {
  const at::Tensor preds = at::randint(0, 3, {1, 7, 6, 9}, at::kLong);
  const at::Tensor target = at::randint(0, 3, {1, 7, 6, 9}, at::kLong);
  const auto inside = [](const at::Tensor& small) {
    at::Tensor large = at::zeros({1, 30, 25, 90}, at::kLong);
    large.narrow(1, 11, 7).narrow(2, 4, 6).narrow(3, 60, 9).copy_(small);
    return large;
  };
  const std::vector<double> spacing{2, 0.7, 1.3};
  for (const auto surface : {Surface::kVoxel, Surface::kElement}) {
    for (const auto metric :
         {DistanceMetric::kEuclidean, DistanceMetric::kChessboard,
          DistanceMetric::kTaxicab}) {
      const auto options = HausdorffDistanceOptions(3)
                               .input_format(kIndex)
                               .surface(surface)
                               .distance_metric(metric)
                               .spacing(spacing);
      EXPECT_EQ(
          value_of<HausdorffDistance>(options, preds, target),
          value_of<HausdorffDistance>(options, inside(preds), inside(target)));
    }
    const auto options =
        AverageDistanceOptions(3).input_format(kIndex).surface(surface).spacing(
            spacing);
    EXPECT_EQ(value_of<AverageSymmetricSurfaceDistance>(options, preds, target),
              value_of<AverageSymmetricSurfaceDistance>(options, inside(preds),
                                                        inside(target)));
  }
}

TEST(SurfacesTest, ClassesBySampleAreWhatTheyAreAlone) {
  const at::Tensor preds = at::randint(0, 4, {3, 10, 70}, at::kLong);
  const at::Tensor target = at::randint(0, 4, {3, 10, 70}, at::kLong);
  const auto distance = [](const at::Tensor& p, const at::Tensor& t,
                           std::int64_t classes) {
    return score_of<AverageSymmetricSurfaceDistance>(
               AverageDistanceOptions(classes).input_format(kIndex).per_class(
                   true),
               p, t)
        .value;
  };
  const at::Tensor all = distance(preds, target, 4);
  for (int c = 1; c < 4; ++c) {
    double sum = 0;
    for (int n = 0; n < 3; ++n) {
      sum +=
          distance(preds[n].eq(c).unsqueeze(0), target[n].eq(c).unsqueeze(0), 2)
              .item<double>();
    }
    EXPECT_NEAR(all[c - 1].item<double>(), sum / 3, 1e-12);
  }
  // Labels that do not fit into a byte.
  EXPECT_TRUE(distance(preds.mul(250), target.mul(250), 751)
                  .isfinite()
                  .sum()
                  .item<std::int64_t>() == 3);
  // Masks.
  const auto masks = [](const at::Tensor& labels) {
    return labels.unsqueeze(1).eq(
        at::tensor({0, 1, 2, 3}).reshape({1, 4, 1, 1}));
  };
  EXPECT_TRUE(score_of<AverageSymmetricSurfaceDistance>(
                  AverageDistanceOptions(4).per_class(true), masks(preds),
                  masks(target))
                  .value.equal(all));
}

MetricCollection family(const std::vector<double>& spacing) {
  MetricCollection metrics;
  const auto options = hausdorff().spacing(spacing);
  metrics.add("hd", HausdorffDistance(options));
  metrics.add("hd95", HausdorffDistance(
                          HausdorffDistanceOptions(options).percentile(95)));
  metrics.add("assd",
              AverageSymmetricSurfaceDistance(average().spacing(spacing)));
  metrics.add("nsd", NormalizedSurfaceDistance(normalized(1).spacing(spacing)));
  metrics.add("f1", BoundaryF1(BoundaryF1Options(2).input_format(kIndex)));
  return metrics;
}

TEST(SurfacesTest, CollectionsGiveTheSame) {
  const std::vector<double> spacing{1.5, 0.5, 1};
  MetricCollection metrics = family(spacing);
  std::vector<at::Tensor> batches;
  for (int i = 0; i < 3; ++i) {
    batches.push_back(at::randint(0, 2, {2, 5, 6, 7}, at::kLong));
  }
  for (const at::Tensor& batch : batches) {
    metrics.update(batch, batch.flip(1));
  }
  const Results results = metrics.compute();
  HausdorffDistance hd95(hausdorff().spacing(spacing).percentile(95));
  NormalizedSurfaceDistance nsd(normalized(1).spacing(spacing));
  for (const at::Tensor& batch : batches) {
    hd95.update(batch, batch.flip(1));
    nsd.update(batch, batch.flip(1));
  }
  EXPECT_TRUE(results["hd95"].equal(hd95.compute().value));
  EXPECT_TRUE(results["nsd"].equal(nsd.compute().value));
  EXPECT_GE(results["hd"].item<double>(), results["hd95"].item<double>());
}

TEST(SurfacesTest, BadInputsAreRefused) {
  const at::Tensor image = at::zeros({2, 4, 4}, at::kLong);
  const auto refusal = [](const HausdorffDistanceOptions& options,
                          const at::Tensor& input) {
    HausdorffDistance metric(options);
    const std::string text = refusal_of([&] { metric.update(input, input); });
    EXPECT_EQ(metric.update_count(), 0);
    return text;
  };
  EXPECT_THAT(
      refusal(hausdorff().spacing(std::vector<double>{1, 1, 2}), image),
      HasSubstr("expected samples of 3 dimensions, as spacing has "
                "numbers, got sizes [4, 4] of each (HausdorffDistance)"));
  EXPECT_THAT(refusal(hausdorff().spacing(std::vector<double>{1, 1}),
                      image.unsqueeze(1)),
              HasSubstr("expected samples of 2 dimensions"));
  EXPECT_THAT(
      refusal(hausdorff(), image.select(1, 0)),
      HasSubstr("expected samples of 2 or 3 dimensions, got sizes [4]"));
  EXPECT_THAT(refusal(hausdorff(), image.unsqueeze(1).unsqueeze(1)),
              HasSubstr("expected samples of 2 or 3 dimensions"));
  EXPECT_THAT(refusal(HausdorffDistanceOptions(2), image),
              HasSubstr("expected preds and target [N, 2, ...]"));
}

TEST(SurfacesTest, BadOptionsAreRefused) {
  const auto refusal = [](const HausdorffDistanceOptions& options) {
    return refusal_of([&] { HausdorffDistance metric(options); });
  };
  EXPECT_THAT(refusal(HausdorffDistanceOptions(0)),
              HasSubstr("HausdorffDistance: expected num_classes"));
  EXPECT_THAT(refusal(hausdorff().percentile(101)),
              HasSubstr("expected percentile from 0 to 100, got 101"));
  EXPECT_THAT(refusal(hausdorff().empty_penalty(kNaN)),
              HasSubstr("expected an empty_penalty, got NaN"));
  EXPECT_THAT(refusal(hausdorff().spacing(std::vector<double>{1})),
              HasSubstr("expected spacing of 2 or 3 finite numbers above 0"));
  EXPECT_THAT(refusal(hausdorff().spacing(std::vector<double>{1, 0})),
              HasSubstr("got [1, 0]"));
  EXPECT_THAT(refusal_of([] { NormalizedSurfaceDistance nsd(normalized(-1)); }),
              HasSubstr("expected a finite tolerance of at least 0, got -1"));
  EXPECT_THAT(
      refusal_of([] {
        BoundaryF1 f1(BoundaryF1Options(2).spacing(std::vector<double>{1, 1}));
      }),
      HasSubstr("expected a tolerance together with spacing"));
  EXPECT_THAT(
      refusal_of([] {
        AverageSymmetricSurfaceDistance distance(average().empty_penalty(kNaN));
      }),
      HasSubstr("expected an empty_penalty, got NaN"));
}

TEST(SurfacesTest, WithoutUpdates) {
  HausdorffDistance distance(hausdorff().per_class(true).count_cases(true));
  EXPECT_EQ(distance.compute().value.sizes(), at::IntArrayRef({1}));
  EXPECT_TRUE(std::isnan(distance.compute().value.item<double>()));
  EXPECT_EQ(distance.compute().cases.item<std::int64_t>(), 0);
  BoundaryF1 f1(2);
  EXPECT_TRUE(std::isnan(f1.compute_results().value().item<double>()));
  f1.update(at::zeros({0, 2, 3, 3}), at::zeros({0, 2, 3, 3}, at::kLong));
  EXPECT_TRUE(std::isnan(f1.compute().value.item<double>()));
}

TEST(SurfacesTest, NaNFollowsThePolicy) {
  at::Tensor scores = at::rand({2, 2, 6, 6});
  const at::Tensor target = at::randint(0, 2, {2, 6, 6}, at::kLong);
  const auto options =
      AverageDistanceOptions(2).input_format(SegmentationFormat::kMixed);
  const double first = value_of<AverageSymmetricSurfaceDistance>(
      options, scores.narrow(0, 0, 1), target.narrow(0, 0, 1));
  scores[1][0][3][3] = kNaN;
  EXPECT_TRUE(std::isnan(
      value_of<AverageSymmetricSurfaceDistance>(options, scores, target)));
  AverageSymmetricSurfaceDistance ignores(
      options, MetricOptions().nan_policy(NanPolicy::kIgnore));
  EXPECT_EQ(ignores.forward(scores, target).value.item<double>(), first);
}

}  // namespace
}  // namespace tally

#include "tally/metrics/detection/panoptic_quality.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/detection/modified_panoptic_quality.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Options = PanopticQualityOptions;

constexpr std::int64_t kVoid = 255;

// 100 pixels of one category and instance.
at::Tensor whole(std::int64_t category, std::int64_t instance = 0) {
  return at::tensor({category, instance}, at::kLong)
      .expand({1, 100, 2})
      .contiguous();
}

// Pixels [begin, end) belong to another segment.
at::Tensor with(const at::Tensor& pixels, std::int64_t begin, std::int64_t end,
                std::int64_t category, std::int64_t instance = 0) {
  at::Tensor changed = pixels.clone();
  changed.narrow(1, begin, end - begin)
      .copy_(at::tensor({category, instance}, at::kLong));
  return changed;
}

Options options() { return Options({0, 1}, {6, 7}); }

template <class M = PanopticQuality>
double pq_of(const Options& with_options, const at::Tensor& preds,
             const at::Tensor& target, const at::Tensor& crowd = {}) {
  M metric(with_options);
  metric.update(preds, target, crowd);
  return metric.compute()["pq"].template item<double>();
}

TEST(PanopticQualityTest, PassesTheHarness) {
  testkit::check_metric<PanopticQuality>("detection/PanopticQuality");
}

TEST(ModifiedPanopticQualityTest, PassesTheHarness) {
  testkit::check_metric<ModifiedPanopticQuality>(
      "detection/ModifiedPanopticQuality");
}

TEST(PanopticQualityTest, PredictedVoidStaysInTheUnion) {
  // 40 of 100 pixels right, the others of no segment: no match.
  const auto with_void = options().allow_unknown_preds_category(true);
  const at::Tensor target = whole(0, 1);
  EXPECT_EQ(pq_of(with_void, with(target, 0, 60, kVoid), target), 0);
  EXPECT_NEAR(pq_of(with_void, with(target, 0, 40, kVoid), target), 0.6, 1e-15);
  // An object is missed that is predicted to be void altogether.
  EXPECT_EQ(pq_of(with_void, whole(kVoid), target), 0);
}

TEST(PanopticQualityTest, AnnotatedVoidIsNoPartOfTheUnion) {
  // Predicted everywhere, annotated on the half.
  const at::Tensor preds = whole(0, 1);
  EXPECT_EQ(pq_of(options(), preds, with(preds, 0, 50, kVoid)), 1);
  EXPECT_EQ(pq_of(options(), preds, with(preds, 0, 50, 6)), 0);
}

TEST(PanopticQualityTest, AnOverlapMustExceedOneHalf) {
  const at::Tensor target = whole(0, 1);
  EXPECT_EQ(pq_of(options(), with(target, 0, 50, 6), target), 0);
  // 51 of 100, and a region that is not there.
  EXPECT_NEAR(pq_of(options(), with(target, 0, 49, 6), target), 0.51 / 2,
              1e-15);
}

TEST(PanopticQualityTest, AllCrowdsOfACategoryCount) {
  // A prediction in two crowds, 40 pixels each, and 20 pixels elsewhere.
  const at::Tensor preds = whole(0, 1);
  at::Tensor target = with(with(whole(6), 0, 40, 0, 5), 40, 80, 0, 9);
  at::Tensor crowd = at::zeros({1, 100}, at::kBool);
  crowd.narrow(1, 0, 80).fill_(true);
  const auto each = options().return_per_class(true);
  PanopticQuality metric(each);
  metric.update(preds, target, crowd);
  // Neither a true nor a false positive; the region is missed.
  EXPECT_TRUE(std::isnan(metric.compute()["pq"][0].item<double>()));
  EXPECT_EQ(metric.compute()["pq"][2].item<double>(), 0);
  // Those of another category do not.
  PanopticQuality other(each);
  other.update(whole(1, 1), target, crowd);
  EXPECT_EQ(other.compute()["pq"][1].item<double>(), 0);
}

TEST(PanopticQualityTest, HalfInVoidIsAFalsePositive) {
  const at::Tensor preds = whole(0, 1);
  const auto each = options().return_per_class(true);
  for (const std::int64_t pixels : {50, 51}) {
    PanopticQuality metric(each);
    metric.update(preds, with(whole(6), 0, pixels, kVoid));
    EXPECT_EQ(std::isnan(metric.compute()["pq"][0].item<double>()),
              pixels == 51);
  }
}

TEST(PanopticQualityTest, InstancesOfStuffsDoNotCount) {
  const at::Tensor target = with(whole(6, 1), 0, 50, 6, 2);
  EXPECT_EQ(pq_of(options(), whole(6, 3), target), 1);
  EXPECT_EQ(pq_of(options(), whole(0, 1), with(whole(0, 1), 0, 50, 0, 2)), 0);
}

TEST(PanopticQualityTest, SegmentsOfDifferentImagesDoNotMatch) {
  const at::Tensor preds = at::cat({whole(0, 1), whole(1, 1)});
  const at::Tensor target = at::cat({whole(1, 1), whole(0, 1)});
  EXPECT_EQ(pq_of(options(), preds, target), 0);
}

TEST(ModifiedPanopticQualityTest, RegionsNeedNotOverlapByHalf) {
  // 30 of 100 pixels of a region, and an object that is not there.
  const at::Tensor target = whole(6);
  const at::Tensor preds = with(target, 0, 70, 0, 1);
  const auto each = options().return_per_class(true);
  ModifiedPanopticQuality metric(each);
  metric.update(preds, target);
  const at::Tensor pq = metric.compute()["pq"];
  EXPECT_EQ(pq[0].item<double>(), 0);
  EXPECT_NEAR(pq[2].item<double>(), 0.3, 1e-15);
  EXPECT_EQ(pq_of(options(), preds, target), 0);
}

TEST(ModifiedPanopticQualityTest, SharesTheStateInACollection) {
  MetricCollection metrics;
  metrics.add("pq", PanopticQuality(options()));
  metrics.add("modified",
              ModifiedPanopticQuality(options().return_per_class(true)));
  EXPECT_EQ(metrics.groups().size(), 1);
}

TEST(PanopticQualityTest, WithoutSegments) {
  PanopticQuality metric(options().return_sq_and_rq(true));
  for (const char* part : {"pq", "sq", "rq"}) {
    EXPECT_TRUE(std::isnan(metric.compute()[part].item<double>())) << part;
  }
  EXPECT_TRUE(std::isnan(pq_of(options(), whole(0), whole(kVoid))));
  PanopticQuality each(options().return_per_class(true));
  EXPECT_EQ(each.compute()["pq"].sizes(), at::IntArrayRef({4}));
  EXPECT_TRUE(each.compute()["classes"].equal(at::tensor({0, 1, 6, 7})));
}

TEST(PanopticQualityTest, BadInputs) {
  PanopticQuality metric(options());
  const at::Tensor good = at::cat({whole(0), whole(6)});
  const auto refused = [&](const at::Tensor& preds, const at::Tensor& target,
                           const at::Tensor& crowd = {}) {
    return refusal_of([&] { metric.update(preds, target, crowd); });
  };
  EXPECT_THAT(refused(at::cat({whole(0), whole(9)}), good),
              HasSubstr("expected categories of preds among things and stuffs, "
                        "got 9 in image 1 (see allow_unknown_preds_category)"));
  EXPECT_THAT(refused(good.narrow(2, 0, 1), good.narrow(2, 0, 1)),
              HasSubstr("expected preds and target of shape [N, ..., 2]"));
  EXPECT_THAT(refused(good.select(1, 0), good.select(1, 0)),
              HasSubstr("expected preds and target of shape [N, ..., 2]"));
  EXPECT_THAT(refused(good.narrow(0, 0, 1), good), HasSubstr("[1, 100, 2]"));
  EXPECT_THAT(refused(good, good, at::zeros({2, 99}, at::kLong)),
              HasSubstr("expected crowd of shape [2, 100], a flag for each "
                        "pixel of target, got [2, 99]"));
  EXPECT_THAT(refusal_of<c10::TypeError>(
                  [&] { metric.update(good.to(at::kFloat), good); }),
              HasSubstr("preds"));
  EXPECT_EQ(metric.update_count(), 0);
}

TEST(PanopticQualityTest, BadOptions) {
  EXPECT_THAT(refusal_of([] { PanopticQuality(Options({}, {})); }),
              HasSubstr("expected categories, got none"));
  EXPECT_THAT(refusal_of([] {
                PanopticQuality(Options({1, 2}, {3, 1}));
              }),
              HasSubstr("expected different categories, got 1 twice in [1, 2] "
                        "and [3, 1]"));
  EXPECT_THAT(refusal_of([] {
                PanopticQuality(Options({2, 2}, {}));
              }),
              HasSubstr("got 2 twice"));
}

}  // namespace
}  // namespace tally

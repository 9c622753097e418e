#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tally/metrics/detection/detection.h"
#include "tally/testing/compare.h"
#include "tally/tests/metrics/detection/image_rows.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Images = std::vector<ImageObjects>;
using Options = BoxOverlapOptions;

constexpr BoxOverlap kOverlaps[] = {BoxOverlap::kIoU, BoxOverlap::kGIoU,
                                    BoxOverlap::kDIoU, BoxOverlap::kCIoU};

at::Tensor boxes_of(const std::vector<std::vector<double>>& boxes) {
  std::vector<double> numbers;
  for (const auto& box : boxes) {
    numbers.insert(numbers.end(), box.begin(), box.end());
  }
  return at::tensor(numbers, at::kDouble).reshape({-1, 4});
}

ImageObjects image(const std::vector<std::vector<double>>& boxes,
                   const std::vector<std::int64_t>& labels) {
  ImageObjects objects;
  objects.boxes = boxes_of(boxes);
  objects.labels = at::tensor(labels, at::kLong);
  return objects;
}

double iou_of(const Options& options, const Images& preds,
              const Images& target) {
  IntersectionOverUnion metric(options);
  metric.update(preds, target);
  return metric.compute()["iou"].item<double>();
}

// Two boxes that are apart.
const std::vector<std::vector<double>> kApart = {{0, 0, 10, 10},
                                                 {20, 0, 30, 10}};

template <class M>
void check_harness() {
  testkit::HarnessOptions harness;
  harness.ragged_input = testkit::image_objects;
  // The law takes so many images that it lasts a minute; see below.
  harness.checks_threads = false;
  testkit::check_metric<M>(std::string("detection/") + M::kName, harness);
}

TEST(IntersectionOverUnionTest, PassesTheHarness) {
  check_harness<IntersectionOverUnion>();
}

TEST(GeneralizedIntersectionOverUnionTest, PassesTheHarness) {
  check_harness<GeneralizedIntersectionOverUnion>();
}

TEST(DistanceIntersectionOverUnionTest, PassesTheHarness) {
  check_harness<DistanceIntersectionOverUnion>();
}

TEST(CompleteIntersectionOverUnionTest, PassesTheHarness) {
  check_harness<CompleteIntersectionOverUnion>();
}

TEST(IntersectionOverUnionTest, TheNumberOfThreadsDecidesNothing) {
  Images preds, target;
  for (int i = 0; i < 100; ++i) {
    const at::Tensor corners = at::rand({4, 2}, at::kDouble);
    for (Images* side : {&preds, &target}) {
      ImageObjects objects;
      objects.boxes =
          at::cat({corners, corners.add(at::rand({4, 2}, at::kDouble))}, 1);
      objects.labels = at::tensor({0, 1, 0, 1}, at::kLong);
      side->push_back(objects);
    }
  }
  const int before = at::get_num_threads();
  std::vector<Results> values;
  for (const int threads : {1, 2, 5}) {
    at::set_num_threads(threads);
    CompleteIntersectionOverUnion metric(Options().class_metrics(true));
    metric.update(preds, target);
    values.push_back(metric.compute());
    EXPECT_TRUE(testkit::same_bits(values.back(), values.front()));
  }
  at::set_num_threads(before);
}

TEST(IntersectionOverUnionTest, PerfectBoxesOverlapFullyInAnyOrder) {
  const Images target = {image(kApart, {0, 0})};
  const Images swapped = {image({kApart[1], kApart[0]}, {0, 0})};
  EXPECT_EQ(iou_of({}, target, target), 1);
  EXPECT_EQ(iou_of({}, swapped, target), 1);
  const auto paired = Options().pairs(BoxPairs::kPaired);
  EXPECT_EQ(iou_of(paired, target, target), 1);
  EXPECT_EQ(iou_of(paired, swapped, target), 0);
  EXPECT_EQ(iou_of(Options().pairs(BoxPairs::kAll), target, target), 0.5);
}

TEST(IntersectionOverUnionTest, MatchesForTheLargestSum) {
  // The first detection overlaps the first object most, which the second
  // detection needs.
  const Images target = {image({{0, 0, 10, 10}, {4, 0, 14, 10}}, {0, 0})};
  const Images preds = {image({{1, 0, 11, 10}, {-5, 0, 5, 10}}, {0, 0})};
  EXPECT_NEAR(iou_of({}, preds, target), (7.0 / 13 + 5.0 / 15) / 2, 1e-15);
}

TEST(IntersectionOverUnionTest, LabelsSeparateBoxes) {
  const Images target = {image({kApart[0]}, {3})};
  const Images preds = {image({kApart[0]}, {4})};
  EXPECT_TRUE(std::isnan(iou_of({}, preds, target)));
  EXPECT_EQ(iou_of(Options().respect_labels(false), preds, target), 1);

  IntersectionOverUnion metric(Options().class_metrics(true));
  metric.update(preds, target);
  metric.update(target, target);
  const Results results = metric.compute();
  EXPECT_TRUE(results["classes"].equal(at::tensor({3}, at::kLong)));
  EXPECT_EQ(results["iou_per_class"].item<double>(), 1);
}

TEST(IntersectionOverUnionTest, AThresholdLeavesPairsOut) {
  const Images target = {image(kApart, {0, 0})};
  const Images preds = {image({{0, 0, 10, 10}, {20, 0, 25, 10}}, {0, 0})};
  EXPECT_EQ(iou_of(Options().iou_threshold(0.5), preds, target), 0.75);
  EXPECT_EQ(iou_of(Options().iou_threshold(0.51), preds, target), 1);
}

TEST(IntersectionOverUnionTest, WithoutPairs) {
  IntersectionOverUnion metric(Options().class_metrics(true));
  EXPECT_TRUE(std::isnan(metric.compute()["iou"].item<double>()));
  EXPECT_EQ(metric.compute()["classes"].numel(), 0);
  metric.update(Images{image({}, {})}, Images{image(kApart, {1, 1})});
  EXPECT_TRUE(std::isnan(metric.compute()["iou"].item<double>()));
  EXPECT_TRUE(std::isnan(metric.compute()["iou_per_class"].item<double>()));
}

TEST(IntersectionOverUnionTest, FlatTensorsAreTheSameAsLists) {
  const Images target = {image({kApart[0]}, {0}), image({kApart[1]}, {0})};
  const Images preds = {image({{0, 0, 10, 5}}, {0}),
                        image({{20, 0, 30, 8}}, {0})};
  FlatImageObjects flat_preds{image({{0, 0, 10, 5}, {20, 0, 30, 8}}, {0, 0}),
                              at::tensor({1, 1})};
  const FlatImageObjects flat_target{image(kApart, {0, 0}), at::tensor({1, 1})};
  flat_preds.objects.boxes.requires_grad_();
  IntersectionOverUnion metric;
  const at::Tensor value = metric.forward(flat_preds, flat_target)["iou"];
  EXPECT_NEAR(value.item<double>(), iou_of({}, preds, target), 1e-15);
  value.backward();
  EXPECT_NE(flat_preds.objects.boxes.grad().abs().sum().item<double>(), 0);
}

template <class M>
void check_gradients(BoxOverlap overlap) {
  for (const BoxFormat format :
       {BoxFormat::kXYXY, BoxFormat::kXYWH, BoxFormat::kCXCYWH}) {
    // Valid in each format.
    Images preds = {image({{1, 2, 11, 14}, {20, 18, 40, 35}}, {0, 1}),
                    image({{4, 6, 9, 30}}, {0})};
    Images target = {image({{22, 17, 36, 40}, {2, 1, 12, 16}}, {1, 0}),
                     image({{3, 5, 12, 27}}, {0})};
    for (ImageObjects& one : preds) one.boxes.requires_grad_();
    M metric(Options().box_format(format));
    const Results results = metric.forward(preds, target);
    results.begin()->second.backward();

    const auto edges = [&](const at::Tensor& boxes) {
      if (format == BoxFormat::kXYXY) return boxes;
      at::Tensor first = boxes.narrow(1, 0, 2);
      const at::Tensor size = boxes.narrow(1, 2, 2);
      if (format == BoxFormat::kCXCYWH) first = first.sub(size.div(2));
      return at::cat({first, first.add(size)}, 1);
    };
    for (std::size_t i = 0; i < preds.size(); ++i) {
      const at::Tensor copy = preds[i].boxes.detach().requires_grad_();
      const at::Tensor own = i == 0 ? target[i].boxes.flip(0) : target[i].boxes;
      box_overlaps(edges(copy), edges(own), overlap).sum().div(3).backward();
      EXPECT_TRUE(
          testkit::near(preds[i].boxes.grad(), copy.grad(), {1e-12, 1e-15}));
    }
  }
}

TEST(IntersectionOverUnionTest, HasTheGradientsOfItsPairs) {
  check_gradients<IntersectionOverUnion>(BoxOverlap::kIoU);
}

TEST(GeneralizedIntersectionOverUnionTest, HasTheGradientsOfItsPairs) {
  check_gradients<GeneralizedIntersectionOverUnion>(BoxOverlap::kGIoU);
}

TEST(DistanceIntersectionOverUnionTest, HasTheGradientsOfItsPairs) {
  check_gradients<DistanceIntersectionOverUnion>(BoxOverlap::kDIoU);
}

TEST(CompleteIntersectionOverUnionTest, HasTheGradientsOfItsPairs) {
  check_gradients<CompleteIntersectionOverUnion>(BoxOverlap::kCIoU);
}

TEST(CompleteIntersectionOverUnionTest, BoxesWithoutAreasAre0WithZeroGradient) {
  const Images target = {image({{5, 5, 5, 5}}, {0})};
  Images preds = {image({{5, 5, 5, 5}}, {0})};
  preds[0].boxes.requires_grad_();
  CompleteIntersectionOverUnion metric;
  const at::Tensor value = metric.forward(preds, target)["ciou"];
  EXPECT_EQ(value.item<double>(), 0);
  value.backward();
  EXPECT_EQ(preds[0].boxes.grad().abs().sum().item<double>(), 0);
}

// Labels may be whole numbers of any dtype, as those of other metrics.
TEST(IntersectionOverUnionTest, LabelsAreWholeNumbers) {
  Images floats = {image(kApart, {0, 7}), image({}, {})};
  for (ImageObjects& each : floats) each.labels = each.labels.to(at::kFloat);
  const Images target = {image(kApart, {0, 7}), image({}, {})};
  EXPECT_EQ(iou_of({}, floats, target), 1);
  floats[0].labels[1] = 0.5;
  EXPECT_THAT(refusal_of([&] { iou_of({}, floats, target); }),
              HasSubstr("preds of image 0: expected whole numbers as labels, "
                        "got 0.5 at position 1"));
}

TEST(IntersectionOverUnionTest, BoxesOfSizesAreToldOfBoxFormat) {
  const Images good = {image({{0.1, 0.1, 0.5, 0.5}}, {0})};
  const auto refusal = [&](const std::vector<double>& box) {
    return refusal_of([&] { iou_of({}, good, {image({box}, {0})}); });
  };
  EXPECT_THAT(refusal({0.5, 0.5, 0.2, 0.2}),
              HasSubstr("set box_format: xywh, or cxcywh for centers"));
  EXPECT_THAT(refusal({0.5, 0.5, -0.2, 0.7}),
              ::testing::EndsWith("got -0.7 x 0.2 for box 0"
                                  " (IntersectionOverUnion)"));
}

TEST(IntersectionOverUnionTest, BadInputsNameImageAndBox) {
  IntersectionOverUnion metric;
  const Images good = {image({}, {}), image(kApart, {0, 0})};
  Images bad = good;
  bad[1].boxes = boxes_of({kApart[0], {5, 0, 4, 1}});
  EXPECT_THAT(refusal_of([&] { metric.update(bad, good); }),
              HasSubstr("preds of image 1: expected boxes of no negative width "
                        "or height, got -1 x 1 for box 1"));
  bad = good;
  bad[1].labels = at::tensor({0, -2}, at::kLong);
  EXPECT_THAT(refusal_of([&] { metric.update(good, bad); }),
              HasSubstr("target of image 1: expected labels from 0"));
  bad[1].labels = at::zeros({3}, at::kLong);
  EXPECT_THAT(refusal_of([&] { metric.update(bad, good); }),
              HasSubstr("expected boxes [3, 4] for 3 labels, got [2, 4]"));
  EXPECT_THAT(refusal_of([&] { metric.update(good, Images{good[0]}); }),
              HasSubstr("expected preds and target of as many images, got 2 "
                        "and 1"));
  bad = good;
  bad[1].boxes = at::Tensor();
  EXPECT_THAT(refusal_of<c10::TypeError>([&] { metric.update(bad, good); }),
              HasSubstr("expected boxes, got none"));
  EXPECT_EQ(metric.update_count(), 0);

  IntersectionOverUnion paired(Options().pairs(BoxPairs::kPaired));
  bad = {good[0], image({kApart[0]}, {0})};
  EXPECT_THAT(refusal_of([&] { paired.update(bad, good); }),
              HasSubstr("image 1: expected as many boxes in preds as in target "
                        "with pairs=paired, got 1 and 2"));
  EXPECT_THAT(
      refusal_of([] { IntersectionOverUnion(Options().iou_threshold(1.5)); }),
      HasSubstr("option 'iou_threshold': expected a number from -1 to 1"));
}

TEST(BoxOverlapsTest, MatchesForTheLargestSum) {
  const at::Tensor boxes = boxes_of({{1, 0, 11, 10}, {-5, 0, 5, 10}});
  const at::Tensor others =
      boxes_of({{0, 0, 10, 10}, {4, 0, 14, 10}, {50, 50, 51, 51}});
  const BoxOverlap iou = BoxOverlap::kIoU;
  EXPECT_EQ(box_overlap_matrix(boxes, others, iou).sizes(),
            at::IntArrayRef({2, 3}));
  EXPECT_TRUE(match_boxes(boxes, others, iou)
                  .equal(at::tensor({0, 1, 1, 0}, at::kLong).view({2, 2})));
  EXPECT_TRUE(match_boxes(others, boxes, iou)
                  .equal(at::tensor({0, 1, 1, 0}, at::kLong).view({2, 2})));
  EXPECT_NEAR(matched_box_overlap(boxes, others, iou).item<double>(),
              (7.0 / 13 + 5.0 / 15) / 2, 1e-15);
  EXPECT_NEAR(
      paired_box_overlap(boxes, others.narrow(0, 0, 2), iou).item<double>(),
      (9.0 / 11 + 1.0 / 19) / 2, 1e-15);
  EXPECT_THAT(refusal_of([&] { paired_box_overlap(boxes, others, iou); }),
              HasSubstr("paired_box_overlap: expected as many boxes as others, "
                        "got 2 and 3"));
  EXPECT_THAT(refusal_of([&] { match_boxes(boxes[0], others, iou); }),
              HasSubstr("match_boxes: expected boxes [N, 4], got [4]"));
}

TEST(BoxOverlapsTest, MatchedOverlapsAreDifferentiable) {
  for (const BoxOverlap overlap : kOverlaps) {
    at::Tensor boxes = boxes_of({{1, 0, 11, 10}, {-5, 0, 5, 12}});
    boxes.requires_grad_();
    matched_box_overlap(boxes, boxes_of(kApart), overlap).backward();
    EXPECT_TRUE(boxes.grad().isfinite().all().item<bool>());
    EXPECT_NE(boxes.grad().abs().sum().item<double>(), 0);
  }
}

TEST(BoxOverlapsTest, WithoutBoxes) {
  const at::Tensor none = at::zeros({0, 4});
  EXPECT_EQ(match_boxes(none, boxes_of(kApart), BoxOverlap::kIoU).sizes(),
            at::IntArrayRef({0, 2}));
  EXPECT_TRUE(std::isnan(
      matched_box_overlap(none, none, BoxOverlap::kIoU).item<double>()));
}

}  // namespace
}  // namespace tally

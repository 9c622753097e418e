#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tally/metrics/collection.h"
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

ImageObjects objects(const std::vector<std::vector<double>>& boxes,
                     const std::vector<std::int64_t>& labels,
                     const std::vector<double>& scores = {}) {
  std::vector<double> numbers;
  for (const auto& box : boxes) {
    numbers.insert(numbers.end(), box.begin(), box.end());
  }
  ImageObjects all;
  all.boxes = at::tensor(numbers, at::kDouble).reshape({-1, 4});
  all.labels = at::tensor(labels, at::kLong);
  if (!scores.empty()) all.scores = at::tensor(scores, at::kDouble);
  return all;
}

std::vector<std::int64_t> matrix_of(
    const DetectionConfusionMatrixOptions& options, const ImageObjects& found,
    const ImageObjects& annotated) {
  DetectionConfusionMatrix matrix(options);
  matrix.update(Images{found}, Images{annotated});
  const at::Tensor value = matrix.compute();
  const auto* cells = value.const_data_ptr<std::int64_t>();
  return {cells, cells + value.numel()};
}

template <class M>
void check_harness() {
  testkit::HarnessOptions harness;
  harness.ragged_input = testkit::image_objects;
  harness.checks_threads = false;
  testkit::check_metric<M>(std::string("detection/") + M::kName, harness);
}

TEST(DetectionConfusionMatrixTest, PassesTheHarness) {
  check_harness<DetectionConfusionMatrix>();
}

TEST(DetectionPrecisionTest, PassesTheHarness) {
  check_harness<DetectionPrecision>();
}

TEST(DetectionRecallTest, PassesTheHarness) {
  check_harness<DetectionRecall>();
}

TEST(DetectionF1ScoreTest, PassesTheHarness) {
  check_harness<DetectionF1Score>();
}

// The wrong class overlaps more, but leaves the object to its own.
TEST(DetectionConfusionMatrixTest, PairsOfOneClassGoFirst) {
  const ImageObjects annotated = objects({{0, 0, 10, 10}}, {0});
  const ImageObjects found =
      objects({{0, 0, 10, 10}, {0, 0, 10, 8}}, {1, 0}, {0.9, 0.8});
  EXPECT_EQ(matrix_of(2, found, annotated),
            (std::vector<std::int64_t>{1, 0, 0, 0, 0, 0, 0, 1, 0}));
  // Alone it is a confusion.
  EXPECT_EQ(matrix_of(DetectionConfusionMatrixOptions(2).score_threshold(0.85),
                      found, annotated),
            (std::vector<std::int64_t>{0, 1, 0, 0, 0, 0, 0, 0, 0}));
}

// The first detection overlaps both objects, and takes the one that it overlaps
// most; the second is left to the other.
TEST(DetectionConfusionMatrixTest, ADetectionWithoutItsBestTakesTheNext) {
  const ImageObjects annotated =
      objects({{0, 0, 10, 10}, {0, 2, 10, 12}}, {0, 0});
  const ImageObjects found =
      objects({{0, 0, 10, 10}, {0, 1, 10, 10}}, {0, 0}, {0.9, 0.8});
  EXPECT_EQ(matrix_of(1, found, annotated),
            (std::vector<std::int64_t>{2, 0, 0, 0}));
}

TEST(DetectionConfusionMatrixTest, ThresholdsAreExceededAndReached) {
  const ImageObjects annotated = objects({{0, 0, 10, 10}}, {0});
  // Half of it.
  const ImageObjects half = objects({{0, 0, 10, 5}}, {0}, {0.3});
  EXPECT_EQ(matrix_of(1, half, annotated),
            (std::vector<std::int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(matrix_of(DetectionConfusionMatrixOptions(1).iou_threshold(0.4999),
                      half, annotated),
            (std::vector<std::int64_t>{1, 0, 0, 0}));
  // Of logits.
  const ImageObjects sure = objects({{0, 0, 10, 10}}, {0}, {-1.5});
  EXPECT_EQ(matrix_of(DetectionConfusionMatrixOptions(1).score_threshold(-2),
                      sure, annotated),
            (std::vector<std::int64_t>{1, 0, 0, 0}));
}

TEST(DetectionConfusionMatrixTest, CrowdsTakeDetectionsOfTheirClass) {
  ImageObjects annotated = objects({{0, 0, 100, 100}}, {0});
  annotated.iscrowd = at::tensor({1});
  const ImageObjects found =
      objects({{0, 0, 10, 10}, {50, 50, 60, 60}, {20, 0, 30, 10}}, {0, 0, 1},
              {0.9, 0.8, 0.7});
  EXPECT_EQ(matrix_of(2, found, annotated),
            (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(DetectionConfusionMatrixTest, Nothing) {
  DetectionConfusionMatrix matrix(2);
  EXPECT_TRUE(
      testkit::same_bits(matrix.compute(), at::zeros({3, 3}, at::kLong)));
  DetectionF1Score f1(2);
  EXPECT_TRUE(std::isnan(f1.compute().item<double>()));
  f1.update(Images{ImageObjects{{}, {}, at::zeros({0})}},
            Images{ImageObjects{{}, {}, at::zeros({0})}});
  EXPECT_TRUE(std::isnan(f1.compute().item<double>()));
  // A false alarm is no object, but a detection.
  f1.update(Images{objects({{0, 0, 1, 1}}, {0}, {0.9})},
            Images{ImageObjects{{}, {}, at::zeros({0})}});
  EXPECT_EQ(f1.compute().item<double>(), 0);
}

TEST(DetectionConfusionMatrixTest, AllShareOneState) {
  MetricCollection metrics;
  metrics.add("matrix", DetectionConfusionMatrix(2));
  metrics.add("precision", DetectionPrecision(2));
  metrics.add("recall",
              DetectionRecall(DetectionRateOptions(2).average(Average::kNone)));
  EXPECT_EQ(metrics.groups().size(), 1u);
  metrics.update(
      Images{objects({{0, 0, 9, 9}, {50, 0, 59, 9}}, {0, 0}, {0.9, 0.8})},
      Images{objects({{0, 0, 9, 9}, {80, 0, 89, 9}}, {0, 1})});
  const Results results = metrics.compute();
  EXPECT_EQ(results["precision"].item<double>(), 0.25);
  EXPECT_TRUE(testkit::same_bits(results["recall"],
                                 at::tensor({1.0, 0.0}, at::kDouble)));
}

TEST(DetectionConfusionMatrixTest, RefusesWhatItCannotCount) {
  DetectionConfusionMatrix matrix(2);
  const ImageObjects one = objects({{0, 0, 9, 9}}, {1}, {0.9});
  matrix.update(Images{one}, Images{one});
  const Results before = matrix.state();
  const auto refused = [&](const Images& preds, const Images& target) {
    const std::string text =
        refusal_of<c10::Error>([&] { matrix.update(preds, target); });
    EXPECT_TRUE(testkit::same_bits(matrix.state(), before));
    return text;
  };
  EXPECT_THAT(refused({one, objects({{0, 0, 9, 9}}, {2}, {0.9})}, {one, one}),
              HasSubstr("preds of image 1: expected labels in [0, 2), got 2 "
                        "for box 0"));
  EXPECT_THAT(refused({one}, {objects({{0, 0, 9, 9}}, {7})}),
              HasSubstr("target of image 0: expected labels in [0, 2), got 7"));
  EXPECT_THAT(refused({one, one}, {one}),
              HasSubstr("expected preds and target of as many images, got 2 "
                        "and 1"));
  EXPECT_THAT(refused({objects({{0, 0, 9, 9}}, {1})}, {one}),
              HasSubstr("expected scores, got none"));
  using Options = DetectionConfusionMatrixOptions;
  const auto option = [](const Options& options) {
    return refusal_of<c10::ValueError>(
        [&] { DetectionConfusionMatrix made(options); });
  };
  EXPECT_THAT(option(0), HasSubstr("expected num_classes from 1 to 46339"));
  EXPECT_THAT(option(Options(1).iou_threshold(1)),
              HasSubstr("expected a number from 0 to below 1, got 1"));
  EXPECT_THAT(option(Options(1).score_threshold(std::nan(""))),
              HasSubstr("expected a finite number, got nan"));
  EXPECT_THAT(option(Options(1).iou_type(ObjectShape::kKeypoints)),
              HasSubstr("expected bbox or segm, got keypoints"));
  EXPECT_THAT(
      refusal_of<c10::ValueError>([] {
        DetectionRecall made(DetectionRateOptions(1).zero_division(0.5));
      }),
      HasSubstr("expected zero_division 0, 1 or nan, got 0.5"));
}

}  // namespace
}  // namespace tally

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/detection/detection.h"
#include "tally/testing/compare.h"
#include "tally/tests/metrics/detection/image_rows.h"
#include "tally/tests/testing/check_values.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Images = std::vector<ImageObjects>;

ImageObjects objects(const std::vector<std::vector<double>>& boxes,
                     const std::vector<double>& scores = {}) {
  std::vector<double> numbers;
  for (const auto& box : boxes) {
    numbers.insert(numbers.end(), box.begin(), box.end());
  }
  ImageObjects all;
  all.boxes = at::tensor(numbers, at::kDouble).reshape({-1, 4});
  all.labels = at::tensor(std::vector<std::int64_t>(boxes.size()), at::kLong);
  all.scores = at::tensor(scores, at::kDouble);
  return all;
}

TEST(PascalVOCAveragePrecisionTest, ValuesAreThoseOfItsRules) {
  testkit::check_values<PascalVOCAveragePrecision>(
      "detection/PascalVOCAveragePrecision", testkit::image_objects);
}

TEST(PascalVOCAveragePrecisionTest, ATakenObjectIsNotLeftForAnother) {
  // Both detections overlap the first object most.
  const Images annotated = {objects({{0, 0, 9, 9}, {0, 3, 9, 12}})};
  const Images found = {objects({{0, 0, 9, 9}, {0, 1, 9, 10}}, {0.9, 0.8})};
  PascalVOCAveragePrecision voc;
  voc.update(found, annotated);
  EXPECT_DOUBLE_EQ(voc.compute()["map"].item<double>(), 0.5);
  MeanAveragePrecision coco(
      MeanAveragePrecisionOptions().iou_thresholds({0.5}));
  coco.update(found, annotated);
  EXPECT_NEAR(coco.compute()["map"].item<double>(), 1, 1e-12);
}

TEST(PascalVOCAveragePrecisionTest, AnOverlapMustExceedTheThreshold) {
  const Images annotated = {objects({{0, 0, 9, 9}})};
  PascalVOCAveragePrecision voc;
  voc.update(Images{objects({{0, 0, 9, 4}}, {1})}, annotated);
  EXPECT_EQ(voc.compute()["map"].item<double>(), 0);
}

TEST(PascalVOCAveragePrecisionTest, ThreeOfTenMissARecallOfThreeTenths) {
  std::vector<std::vector<double>> boxes;
  for (int i = 0; i < 10; ++i) {
    boxes.push_back({20.0 * i, 0, 20.0 * i + 9, 9});
  }
  PascalVOCAveragePrecision voc(
      PascalVOCOptions().interpolation(VOCInterpolation::kElevenPoints));
  voc.update(Images{objects({boxes[0], boxes[1], boxes[2]}, {0.9, 0.8, 0.7})},
             Images{objects(boxes)});
  EXPECT_DOUBLE_EQ(voc.compute()["map"].item<double>(), 3.0 / 11);
}

TEST(PascalVOCAveragePrecisionTest, DifficultObjectsAndTheirHitsDoNotCount) {
  Images annotated = {objects({{0, 0, 9, 9}, {50, 0, 59, 9}})};
  annotated[0].ignore = at::tensor({1, 0});
  PascalVOCAveragePrecision voc;
  voc.update(Images{objects({{0, 0, 9, 9}, {50, 0, 59, 9}}, {0.9, 0.8})},
             annotated);
  EXPECT_EQ(voc.compute()["map"].item<double>(), 1);
}

TEST(PascalVOCAveragePrecisionTest, WithoutObjects) {
  PascalVOCAveragePrecision voc;
  EXPECT_TRUE(std::isnan(voc.compute()["map"].item<double>()));
  voc.update(Images{objects({{0, 0, 9, 9}}, {1})}, Images{objects({})});
  EXPECT_TRUE(std::isnan(voc.compute()["map"].item<double>()));
}

TEST(LVISAveragePrecisionTest, ValuesAreThoseOfLvis) {
  testkit::check_values<LVISAveragePrecision>("detection/LVISAveragePrecision",
                                              testkit::image_objects);
}

TEST(LVISAveragePrecisionTest, TheBestOfAnImageCountOfAllClassesTogether) {
  // The only detection of class 1 is the worst of the image.
  ImageObjects annotated = objects({{0, 0, 9, 9}, {50, 0, 59, 9}});
  annotated.labels = at::tensor({0, 1});
  ImageObjects found =
      objects({{0, 0, 9, 9}, {80, 0, 89, 9}, {50, 0, 59, 9}}, {0.9, 0.8, 0.7});
  found.labels = at::tensor({0, 0, 1});
  const auto map_of = [&](std::int64_t most) {
    LVISAveragePrecision lvis(LVISOptions().max_detections(most));
    lvis.update(Images{found}, Images{annotated});
    return lvis.compute()["map"].item<double>();
  };
  EXPECT_NEAR(map_of(3), 1, 1e-12);
  EXPECT_NEAR(map_of(2), 0.5, 1e-12);
}

TEST(LVISAveragePrecisionTest, OnlyClassesThatAnImageIsJudgedByCount) {
  // Class 1 is annotated in another image.
  ImageObjects annotated = objects({{0, 0, 9, 9}});
  ImageObjects other = objects({{0, 0, 9, 9}});
  other.labels = at::tensor({1});
  ImageObjects found = objects({{0, 0, 9, 9}, {0, 0, 9, 9}}, {0.8, 0.9});
  found.labels = at::tensor({0, 1});
  ImageObjects found_other = objects({{0, 0, 9, 9}}, {0.5});
  found_other.labels = at::tensor({1});
  const auto map_of = [&] {
    LVISAveragePrecision lvis;
    lvis.update(Images{found, found_other}, Images{annotated, other});
    return lvis.compute()["map"].item<double>();
  };
  EXPECT_NEAR(map_of(), 1, 1e-12);
  annotated.negative_labels = at::tensor({1});
  EXPECT_NEAR(map_of(), 0.75, 1e-12);
  annotated.inexhaustive_labels = at::tensor({1});
  EXPECT_NEAR(map_of(), 1, 1e-12);
}

TEST(LVISAveragePrecisionTest, JoinedImagesHaveNoNegativeLabels) {
  LVISAveragePrecision lvis;
  const FlatImageObjects flat{objects({}), at::tensor({0})};
  EXPECT_THAT(refusal_of([&] { lvis.update(Images{objects({})}, flat); }),
              HasSubstr("which have no negative_labels (LVISAverage"));
}

TEST(MeanAverageRecallTest, SharesTheStateOfPrecision) {
  const Images annotated = {objects({{0, 0, 9, 9}, {50, 0, 59, 9}})};
  const Images found = {objects({{0, 0, 9, 9}, {80, 0, 89, 9}}, {0.9, 0.8})};
  MetricCollection metrics;
  metrics.add("map", MeanAveragePrecision());
  metrics.add("recall", MeanAverageRecall());
  metrics.update(found, annotated);
  const Results results = metrics.compute();
  EXPECT_EQ(results["recall"].item<double>(), 0.5);
  EXPECT_EQ(results["map.mar_100"].item<double>(), 0.5);
  MeanAverageRecall best(
      MeanAveragePrecisionOptions().max_detection_thresholds({1}));
  EXPECT_EQ(best.compute().item<double>(), -1);
  best.update(found, annotated);
  EXPECT_EQ(best.compute().item<double>(), 0.5);
}

}  // namespace
}  // namespace tally

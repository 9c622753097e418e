#include "tally/metrics/detection/mean_average_precision.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tally/testing/compare.h"
#include "tally/tests/metrics/detection/image_rows.h"
#include "tally/tests/testing/check_values.h"
#include "tally/tests/testing/fixtures.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Images = std::vector<ImageObjects>;
using Options = MeanAveragePrecisionOptions;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// An object as {left, top, width, height}, its label, and a score if it is
// detected.
struct Object {
  std::vector<double> box;
  std::int64_t label = 0;
  double score = 0;
  bool is_crowd = false;
};

ImageObjects image(const std::vector<Object>& objects) {
  const auto count = static_cast<std::int64_t>(objects.size());
  ImageObjects all{at::empty({count, 4}, at::kDouble),
                   at::empty({count}, at::kDouble),
                   at::empty({count}, at::kLong),
                   at::empty({count}, at::kBool),
                   {}};
  for (std::int64_t i = 0; i < count; ++i) {
    const Object& one = objects[static_cast<std::size_t>(i)];
    all.boxes[i] = at::tensor(one.box, at::kDouble);
    all.scores[i] = one.score;
    all.labels[i] = one.label;
    all.iscrowd[i] = one.is_crowd;
  }
  return all;
}

Options options() { return Options().box_format(BoxFormat::kXYWH); }

Results evaluated(const Options& with, const Images& found,
                  const Images& annotated, const at::Tensor& ids = {}) {
  MeanAveragePrecision metric(with);
  metric.update(found, annotated, ids);
  return metric.compute();
}

double value_of(const Results& results, const std::string& name) {
  return results[name].item<double>();
}

// Images in a row, each with the same objects and other detections.
struct Scene {
  Images found, annotated;
};

// Detections in many images whose scores are mostly equal.
Scene tied_scene(std::uint32_t seed) {
  std::mt19937 random(seed);
  Scene scene;
  const auto below = [&random](std::uint32_t most) {
    return static_cast<std::int64_t>(random() % most);
  };
  for (int i = 0; i < 12; ++i) {
    std::vector<Object> objects, found;
    for (std::int64_t k = below(3); k < 4; ++k) {
      const auto left = static_cast<double>(below(50));
      objects.push_back({{left, 5, 20, 30}, below(2)});
      const auto by = static_cast<double>(below(12));
      found.push_back({{left + by, 5, 20, 30},
                       below(2),
                       static_cast<double>(below(3)) / 4});
    }
    scene.annotated.push_back(image(objects));
    scene.found.push_back(image(found));
  }
  return scene;
}

TEST(MeanAveragePrecisionTest, PassesTheHarness) {
  testkit::HarnessOptions harness;
  harness.ragged_input = testkit::image_objects;
  testkit::check_metric<MeanAveragePrecision>("detection/MeanAveragePrecision",
                                              harness);
}

TEST(MeanAveragePrecisionTest, ValuesAreThoseOfPycocotools) {
  testkit::check_values<MeanAveragePrecision>(
      "detection/MeanAveragePrecision.values", testkit::image_objects);
}

TEST(MeanAveragePrecisionTest, ArraysAreThoseOfPycocotoolsToTheBit) {
  for (const auto& one :
       testkit::read_fixture("detection/MeanAveragePrecision")) {
    if (one.name != "with_ids") continue;
    Options with;
    parse_options(with, "MeanAveragePrecision", one.options);
    MeanAveragePrecision metric(with);
    for (const testkit::Batch& batch : one.batches) {
      std::vector<InputValue> values;
      for (testkit::BatchInput input : batch) {
        input.set_ragged(testkit::image_objects);
        values.push_back(input.value());
      }
      metric.update_inputs({values[0].ref(), values[1].ref(), values[2].ref()});
    }
    const Results results = metric.compute();
    for (const char* name : {"precision", "recall", "scores"}) {
      EXPECT_TRUE(results[name].equal(one.expected.at(name))) << name;
    }
    return;
  }
  FAIL() << "no such case";
}

TEST(MeanAveragePrecisionTest, ThresholdsAreTheDoublesOfNumPy) {
  const std::vector<double> overlaps = Options().overlaps();
  ASSERT_EQ(overlaps.size(), 10);
  EXPECT_EQ(overlaps[8], 0.8999999999999999);
  EXPECT_EQ(overlaps[9], 0.95);
  const std::vector<double> recalls = Options().recalls();
  ASSERT_EQ(recalls.size(), 101);
  EXPECT_EQ(recalls[35], 0.35000000000000003);
  EXPECT_EQ(recalls[100], 1);
}

TEST(MeanAveragePrecisionTest, AnOverlapOfAThresholdSuffices) {
  // 60 / 100.
  const Results results = evaluated(options(), {image({{{0, 0, 6, 10}, 0, 1}})},
                                    {image({{{0, 0, 10, 10}}})});
  EXPECT_NEAR(value_of(results, "map"), 0.3, 1e-12);
}

TEST(MeanAveragePrecisionTest, RecallsAreReadAtDoubles) {
  std::vector<Object> objects, found;
  for (int i = 0; i < 20; ++i) {
    objects.push_back({{20.0 * i, 0, 10, 10}});
    if (i < 7) found.push_back({{20.0 * i, 0, 10, 10}, 0, 0.5});
  }
  // 7 / 20 is less than 35 * 0.01.
  EXPECT_NEAR(
      value_of(evaluated(options(), {image(found)}, {image(objects)}), "map"),
      35.0 / 101, 1e-12);
}

TEST(MeanAveragePrecisionTest, BothBoundsBelongToARangeOfAreas) {
  const Images one = {image({{{0, 0, 32, 32}, 0, 1}})};
  const Results results = evaluated(options(), one, one);
  EXPECT_DOUBLE_EQ(value_of(results, "map_small"), 1);
  EXPECT_DOUBLE_EQ(value_of(results, "map_medium"), 1);
  EXPECT_DOUBLE_EQ(value_of(results, "map_large"), -1);
}

TEST(MeanAveragePrecisionTest, TheLaterOfEqualOverlapsIsTaken) {
  // Both objects overlap the first detection equally; the second detection
  // overlaps the second object alone, which is taken.
  const Images annotated = {image({{{0, 0, 10, 10}}, {{10, 0, 10, 10}}})};
  const Images found = {
      image({{{5, 0, 10, 10}, 0, 0.9}, {{12, 0, 10, 10}, 0, 0.8}})};
  const Results results =
      evaluated(options().iou_thresholds({0.3}), found, annotated);
  EXPECT_DOUBLE_EQ(value_of(results, "mar_100"), 0.5);
}

TEST(MeanAveragePrecisionTest, ACrowdTakesAnyNumber) {
  Object crowd{{0, 0, 100, 100}};
  crowd.is_crowd = true;
  const Images annotated = {image({crowd, {{200, 0, 10, 10}}})};
  const Images found = {image({{{0, 0, 10, 10}, 0, 0.9},
                               {{20, 0, 10, 10}, 0, 0.8},
                               {{200, 0, 10, 10}, 0, 0.6}})};
  const Results results =
      evaluated(options().extended_summary(true), found, annotated);
  EXPECT_DOUBLE_EQ(value_of(results, "map"), 1);
  // Scores are also those of detections that are ignored.
  const at::Tensor scores = results["scores"];
  EXPECT_EQ(scores[0][0][0][0][2].item<double>(), 0.9);
  EXPECT_EQ(scores[0][1][0][0][2].item<double>(), 0.6);
}

TEST(MeanAveragePrecisionTest, TheMostDetectionsNeedNotBe100) {
  const Images one = {image({{{0, 0, 10, 10}, 0, 1}})};
  const Results results =
      evaluated(options().max_detection_thresholds({1, 10, 50}), one, one);
  EXPECT_NEAR(value_of(results, "map"), 1, 1e-12);
  EXPECT_NEAR(value_of(results, "mar_50"), 1, 1e-12);
}

TEST(MeanAveragePrecisionTest, TheAreaOfAnAnnotationIsTheOneGiven) {
  const Images found = {image({{{0, 0, 10, 10}, 0, 1}})};
  Images annotated = found;
  annotated[0].area = at::tensor({5000.0}, at::kDouble);
  const Results results = evaluated(options(), found, annotated);
  EXPECT_NEAR(value_of(results, "map_medium"), 1, 1e-12);
  EXPECT_EQ(value_of(results, "map_small"), -1);
}

TEST(MeanAveragePrecisionTest, BoxesAreDoublesBeforeWidthsAreTaken) {
  // In float32 the widths are rounded by up to 3e-5.
  ImageObjects found, annotated;
  found.boxes = at::tensor({0.1F, 0.F, 900.7F, 1.F}).view({1, 4});
  annotated.boxes = at::tensor({0.1F, 0.F, 1001.3F, 1.F}).view({1, 4});
  found.scores = at::tensor({1.0}, at::kDouble);
  found.labels = annotated.labels = at::tensor({0});
  const double left = 0.1F, right = 900.7F, other_right = 1001.3F;
  const double overlap = (right - left) / (other_right - left);
  for (const double step : {-1e-9, 1e-9}) {
    const Results results =
        evaluated(Options().iou_thresholds({overlap + step}), Images{found},
                  Images{annotated});
    EXPECT_NEAR(value_of(results, "map"), step < 0 ? 1 : 0, 1e-12);
  }
}

TEST(MeanAveragePrecisionTest, ThresholdZeroMatchesBoxesThatAreApart) {
  const Results results = evaluated(options().iou_thresholds({0}),
                                    {image({{{50, 50, 10, 10}, 0, 1}})},
                                    {image({{{0, 0, 10, 10}}})});
  EXPECT_DOUBLE_EQ(value_of(results, "map"), 1);
}

TEST(MeanAveragePrecisionTest, MicroHasOneCurveOfMatchesByClass) {
  const Images annotated = {image({{{0, 0, 10, 10}, 0}})};
  const Images found = {image({{{0, 0, 10, 10}, 1, 0.9}})};
  EXPECT_DOUBLE_EQ(value_of(evaluated(options(), found, annotated), "map"), 0);
  EXPECT_DOUBLE_EQ(
      value_of(evaluated(options().average(DetectionAverage::kMicro), found,
                         annotated),
               "map"),
      0);
  EXPECT_DOUBLE_EQ(
      value_of(evaluated(options().class_agnostic(true), found, annotated),
               "map"),
      1);
  // A hit in one class, and a false positive above it in another.
  const Images both = {
      image({{{0, 0, 10, 10}, 0, 0.5}, {{50, 0, 9, 9}, 1, 0.9}})};
  EXPECT_DOUBLE_EQ(
      value_of(evaluated(options().average(DetectionAverage::kMicro), both,
                         annotated),
               "map"),
      0.5);
}

TEST(MeanAveragePrecisionTest, ImageIdsOrderEqualScores) {
  const Images annotated = {image({{{0, 0, 10, 10}}}), image({})};
  const Images found = {image({{{0, 0, 10, 10}, 0, 0.5}}),
                        image({{{0, 0, 10, 10}, 0, 0.5}})};
  EXPECT_DOUBLE_EQ(
      value_of(evaluated(options(), found, annotated, at::tensor({1, 2})),
               "map"),
      1);
  EXPECT_DOUBLE_EQ(
      value_of(evaluated(options(), found, annotated, at::tensor({2, 1})),
               "map"),
      0.5);
}

TEST(MeanAveragePrecisionTest, WithoutIdsAnyOrderOfImagesGivesTheSame) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    Scene scene = tied_scene(seed);
    const Options with = options().extended_summary(true);
    const Results expected = evaluated(with, scene.found, scene.annotated);
    std::vector<std::size_t> order(scene.found.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (int turn = 0; turn < 3; ++turn) {
      std::shuffle(order.begin(), order.end(), std::mt19937(seed + 7 * turn));
      MeanAveragePrecision metric(with);
      for (const std::size_t i : order) {
        metric.update(Images{scene.found[i]}, Images{scene.annotated[i]});
      }
      EXPECT_TRUE(testkit::same_bits(metric.compute(), expected));
    }
  }
}

TEST(MeanAveragePrecisionTest, FlatTensorsAreTheSameAsLists) {
  const Scene scene = tied_scene(1);
  const auto flat = [](const Images& images) {
    std::vector<at::Tensor> boxes, scores, labels, crowds;
    std::vector<std::int64_t> counts;
    for (const ImageObjects& one : images) {
      boxes.push_back(one.boxes);
      scores.push_back(one.scores);
      labels.push_back(one.labels);
      crowds.push_back(one.iscrowd);
      counts.push_back(one.labels.numel());
    }
    return FlatImageObjects{
        {at::cat(boxes), at::cat(scores), at::cat(labels), at::cat(crowds), {}},
        at::tensor(counts)};
  };
  MeanAveragePrecision metric(options());
  metric.update(flat(scene.found), flat(scene.annotated));
  EXPECT_TRUE(testkit::same_bits(
      metric.compute(), evaluated(options(), scene.found, scene.annotated)));
  FlatImageObjects wrong = flat(scene.found);
  wrong.counts = wrong.counts.add(1);
  EXPECT_THAT(refusal_of([&] { metric.update(wrong, flat(scene.annotated)); }),
              HasSubstr("preds: expected counts that add up to the"));
}

TEST(MeanAveragePrecisionTest, ARepeatedImageCountsOnce) {
  const Scene scene = tied_scene(2);
  const at::Tensor ids = at::tensor({12, 3, 5, 7, 1, 2, 4, 6, 8, 9, 10, 11});
  const Results expected =
      evaluated(options(), scene.found, scene.annotated, ids);
  MeanAveragePrecision metric(options());
  metric.update(scene.found, scene.annotated, ids);
  metric.update(Images{scene.found[1]}, Images{scene.annotated[1]},
                at::tensor({3}));
  EXPECT_TRUE(testkit::same_bits(metric.compute(), expected));
  metric.update(Images{scene.found[0]}, Images{scene.annotated[1]},
                at::tensor({3}));
  EXPECT_THAT(refusal_of([&] { metric.compute(); }),
              HasSubstr("got image 3 twice with objects that differ"));
}

TEST(MeanAveragePrecisionTest, IdsAreForAllImagesOrNone) {
  const Images one = {image({{{0, 0, 10, 10}, 0, 1}})};
  MeanAveragePrecision metric(options());
  metric.update(one, one, at::tensor({1}));
  metric.update(one, one);
  EXPECT_THAT(refusal_of([&] { metric.compute(); }),
              HasSubstr("expected image_ids in every update or in none, got "
                        "them for 1 of 2 images"));
}

TEST(MeanAveragePrecisionTest, WithoutUpdates) {
  MeanAveragePrecision metric(options().class_metrics(true));
  const Results results = metric.compute();
  EXPECT_DOUBLE_EQ(value_of(results, "map"), -1);
  EXPECT_EQ(results["classes"].numel(), 0);
}

TEST(MeanAveragePrecisionTest, BadInputsNameImageAndBox) {
  MeanAveragePrecision metric;
  const Images good = {image({}), image({{{0, 0, 10, 10}}, {{1, 1, 9, 9}}})};
  const auto refused = [&](const Images& found) {
    return refusal_of([&] { metric.update(found, good, at::tensor({4, 42})); });
  };
  Images bad = good;
  bad[1].boxes = bad[1].boxes.clone();
  bad[1].boxes[1][2] = 0;
  EXPECT_THAT(
      refused(bad),
      HasSubstr("preds of image 1 (id 42): expected boxes of no negative "
                "width or height, got -1 x 8 for box 1"));
  bad[1].boxes[1][2] = kNaN;
  EXPECT_THAT(refused(bad), HasSubstr("expected finite boxes"));
  bad = good;
  bad[1].scores = at::full({2}, kNaN);
  EXPECT_THAT(refused(bad),
              HasSubstr("expected scores without NaN, got one for box 0"));
  bad = good;
  bad[1].labels = bad[1].labels.sub(1);
  EXPECT_THAT(refused(bad), HasSubstr("expected labels from 0 to 2147483647, "
                                      "got -1 for box 0"));
  bad = good;
  bad[1].scores = at::zeros({3});
  EXPECT_THAT(refused(bad), HasSubstr("expected scores [2] for 2 labels"));
  EXPECT_THAT(refusal_of([&] { metric.update(good, Images{good[0]}); }),
              HasSubstr("expected preds and target of as many images, got 2 "
                        "and 1"));
  bad = good;
  bad[1].scores = at::Tensor();
  EXPECT_THAT(refusal_of<c10::TypeError>([&] { metric.update(bad, good); }),
              HasSubstr("preds of image 1: expected scores, got none"));
  EXPECT_EQ(metric.update_count(), 0);
}

TEST(MeanAveragePrecisionTest, BadOptions) {
  EXPECT_THAT(refusal_of([] {
                MeanAveragePrecision(Options().iou_thresholds({0.7, 0.5}));
              }),
              HasSubstr("expected ascending numbers from 0 to 1"));
  EXPECT_THAT(refusal_of([] {
                MeanAveragePrecision(Options().max_detection_thresholds({0}));
              }),
              HasSubstr("expected ascending numbers of 1 or more"));
  EXPECT_THAT(
      refusal_of([] { MeanAveragePrecision(Options().area_bounds({1})); }),
      HasSubstr("expected two ascending areas"));
}

}  // namespace
}  // namespace tally

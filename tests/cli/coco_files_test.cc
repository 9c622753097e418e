#include "tally/files/coco_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/metrics/collection.h"
#include "tally/metrics/detection/detection.h"
#include "tally/tests/cli/files.h"

namespace tally::cli {
namespace {

// Two images; in the second a box of 4 x 4 and one that covers half of it.
constexpr const char* kAnnotations = R"({
  "images": [{"id": 7}, {"id": 8}],
  "categories": [{"id": 4, "name": "cat"}, {"id": 5, "name": "dog"}],
  "annotations": [
    {"image_id": 7, "category_id": 4, "bbox": [300, 100, 15, 50]},
    {"image_id": 7, "category_id": 5, "bbox": [298.55, 98.96, 16.42, 52.83]},
    {"image_id": 8, "category_id": 5, "bbox": [0, 0, 4, 4]}]})";
constexpr const char* kResults = R"([
  {"image_id": 7, "category_id": 5, "bbox": [298.55, 98.96, 16.42, 52.83],
   "score": 0.5},
  {"image_id": 7, "category_id": 4, "bbox": [300, 100, 15, 50], "score": 0.2},
  {"image_id": 8, "category_id": 5, "bbox": [0, 0, 4, 2], "score": 0.9}])";

TEST(CocoFilesTest, FeedOverlapsOfBoxes) {
  const Folder folder;
  const files::CocoFiles files(folder.write("gt.json", kAnnotations),
                               folder.write("dt.json", kResults),
                               {ObjectShape::kBbox});
  MetricCollection metrics;
  metrics.add("iou",
              IntersectionOverUnion(BoxOverlapOptions().class_metrics(true)));
  metrics.add("map", MeanAveragePrecision());
  for (std::int64_t image = 0; image < files.image_ids().numel(); ++image) {
    metrics.update(
        {{"preds", files.preds(image, image + 1)},
         {"target", files.target(image, image + 1)},
         {"image_ids", files.image_ids().slice(0, image, image + 1)}});
  }
  const Results results = metrics.compute();
  EXPECT_DOUBLE_EQ(results["iou.iou"].item<double>(), 2.5 / 3);
  EXPECT_DOUBLE_EQ(results["iou.iou_per_class"][0].item<double>(), 1);
  EXPECT_DOUBLE_EQ(results["iou.iou_per_class"][1].item<double>(), 0.75);
  EXPECT_DOUBLE_EQ(results["map.map_50"].item<double>(), 1);
}

}  // namespace
}  // namespace tally::cli

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"

// COCO's files that lack what is needed, or have more than COCO: LVIS's.

namespace tally::cli {
namespace {

using tally::testkit::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TallyCocoFaultsTest : public ::testing::Test {
 protected:
  Json annotations_ = Json::parse(R"({
    "images": [{"id": 1, "height": 40, "width": 40}],
    "categories": [{"id": 3, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 3,
                     "bbox": [0, 0, 10, 10], "area": 100,
                     "segmentation": [[0, 0, 10, 0, 10, 10]]}]})");
  Json results_ = Json::parse(R"([{
    "image_id": 1, "category_id": 3, "bbox": [0, 0, 10, 5], "score": 0.9,
    "segmentation": [[0, 0, 10, 0, 10, 10]]}])");

  testkit::Program::Result run(Words more = {}) const {
    more.insert(
        more.begin(),
        {"--coco", folder_.write("gt.json", annotations_.dump()),
         folder_.write("dt.json", results_.dump()), "--format", "json"});
    return run_program(evaluate(more));
  }
  Json metrics(const Words& more) const {
    const auto result = run(more);
    EXPECT_EQ(result.status, 0) << result.errors;
    return Json::parse(result.output).at("metrics");
  }
  std::string refusal(const Words& more = {}) const {
    const auto result = run(more);
    EXPECT_EQ(result.status, 2) << result.output;
    return result.errors;
  }

  Folder folder_;
};

TEST_F(TallyCocoFaultsTest, ResultsOfOtherCategoriesAloneAreAnError) {
  const Json known = results_[0];
  results_ = Json::array();
  for (const int category : {7, 8, 9, 10, 11, 12, 7}) {
    results_.push_back(known);
    results_.back()["category_id"] = category;
  }
  EXPECT_EQ(refusal(), "tally: " + folder_.path("dt.json") +
                           ": expected results of the categories in " +
                           folder_.path("gt.json") +
                           ", got 7 of other categories alone: category_id 7, "
                           "8, 9, 10, 11 and 1 more\n");
  EXPECT_THAT(refusal({"-m", "IntersectionOverUnion", "--ranks", "2"}),
              HasSubstr("got 7 of other categories alone: category_id 7, "));
  results_.push_back(known);
  EXPECT_EQ(run().errors,
            "tally: results skipped because of a category that is not "
            "listed: 7\n");
  results_ = Json::array();
  EXPECT_EQ(run().errors, "");
}

TEST_F(TallyCocoFaultsTest, AnnotationsComeFirst) {
  std::swap(annotations_, results_);
  EXPECT_EQ(refusal(),
            "tally: " + folder_.path("gt.json") +
                ": expected an object with lists of annotations, got a list; "
                "annotations come first, then results\n");
  annotations_ = results_;
  EXPECT_EQ(refusal(), "tally: " + folder_.path("dt.json") +
                           ": expected a list of results, got an object; "
                           "annotations come first, then results\n");
  results_ = Json::array();
  annotations_.erase("categories");
  EXPECT_EQ(refusal(), "tally: " + folder_.path("gt.json") +
                           ": expected 'categories', got no such list\n");
}

TEST_F(TallyCocoFaultsTest, TheFileOfANegativeWidthIsNamed) {
  for (const std::string metric :
       {"MeanAveragePrecision", "IntersectionOverUnion"}) {
    const Words words = {"-m", metric};
    results_[0]["bbox"] = {5, 5, -3, 4};
    EXPECT_THAT(refusal(words),
                AllOf(HasSubstr(folder_.path("dt.json") + ", image 1: preds"),
                      HasSubstr("expected boxes of no negative width or "
                                "height, got -3 x 4 for box 0 (" +
                                metric),
                      Not(HasSubstr("box_format"))));
    results_[0]["bbox"] = {0, 0, 10, 5};
    annotations_["annotations"][0]["bbox"] = {5, 5, -3, 4};
    EXPECT_THAT(refusal(words),
                HasSubstr(folder_.path("gt.json") + ", image 1: target"));
    annotations_["annotations"][0]["bbox"] = {0, 0, 10, 10};
  }
  annotations_["images"][0]["width"] = -40;
  EXPECT_EQ(refusal({"-m", "MeanAveragePrecision(iou_type=segm)"}),
            "tally: " + folder_.path("gt.json") +
                ": images 0: 'width': expected an integer of at least 1, got "
                "-40\n");
  EXPECT_EQ(run().status, 0);  // boxes need none
  annotations_["images"][0]["width"] = 40;
  annotations_["annotations"][0]["segmentation"] = {{0, 0, 10}};
  EXPECT_THAT(refusal({"-m", "MeanAveragePrecision(iou_type=segm)"}),
              HasSubstr(folder_.path("gt.json") + ": polygons of image 1: "));
}

TEST_F(TallyCocoFaultsTest, OverlapsNeedNoScores) {
  results_[0].erase("score");
  for (const std::string metric :
       {"IntersectionOverUnion", "GeneralizedIntersectionOverUnion",
        "DistanceIntersectionOverUnion", "CompleteIntersectionOverUnion",
        "MinMaxMetric(metric=IntersectionOverUnion)"}) {
    EXPECT_EQ(run({"-m", metric}).status, 0) << metric;
  }
  EXPECT_EQ(metrics({"-m", "o=IntersectionOverUnion"}).at("o.iou"), 0.5);
  EXPECT_THAT(refusal({"-m", "IntersectionOverUnion; MeanAveragePrecision"}),
              HasSubstr("dt.json: result 0: expected 'score'"));
}

// The scene of the metric's own test, whose values are there by hand.
TEST_F(TallyCocoFaultsTest, FilesOfLVIS) {
  annotations_ = Json::parse(R"({
    "images": [
      {"id": 1, "neg_category_ids": [1], "not_exhaustive_category_ids": []},
      {"id": 2, "neg_category_ids": [], "not_exhaustive_category_ids": []}],
    "categories": [{"id": 0, "name": "a", "frequency": "r"},
                   {"id": 1, "name": "b", "frequency": "c"}],
    "annotations": [
      {"id": 1, "image_id": 1, "category_id": 0, "bbox": [0, 0, 9, 9]},
      {"id": 2, "image_id": 2, "category_id": 1, "bbox": [0, 0, 9, 9]}]})");
  results_ = Json::parse(R"([
    {"image_id": 1, "category_id": 0, "bbox": [0, 0, 9, 9], "score": 0.8},
    {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.9},
    {"image_id": 2, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}])");
  const std::string lvis = "l=LVISAveragePrecision";
  for (const char* ranks : {"1", "2"}) {
    const Json values = metrics({"-m", lvis, "--ranks", ranks});
    EXPECT_NEAR(values.at("l.map").get<double>(), 0.75, 1e-12);
    EXPECT_NEAR(values.at("l.map_rare").get<double>(), 1, 1e-12);
    EXPECT_NEAR(values.at("l.map_common").get<double>(), 0.5, 1e-12);
    EXPECT_EQ(values.at("l.map_frequent"), -1);
  }
  // Beside a metric that does not know what images are judged by.
  const Json both = metrics({"-m", lvis + "; m=MeanAveragePrecision"});
  EXPECT_NEAR(both.at("l.map").get<double>(), 0.75, 1e-12);
  EXPECT_NEAR(both.at("m.map").get<double>(), 0.75, 1e-12);
  Json& first = annotations_["images"][0];
  first["not_exhaustive_category_ids"] = {1};
  EXPECT_NEAR(metrics({"-m", lvis}).at("l.map").get<double>(), 1, 1e-12);
  // An object that is ignored is neither found nor missed.
  annotations_["annotations"][1]["ignore"] = 1;
  EXPECT_EQ(metrics({"-m", lvis}).at("l.map_common"), -1);
  first["neg_category_ids"] = "1";
  EXPECT_THAT(refusal({"-m", lvis}),
              HasSubstr("gt.json: images 0: 'neg_category_ids': expected a "
                        "list of ids, got \"1\""));
  first["neg_category_ids"] = {1.5};
  EXPECT_THAT(refusal({"-m", lvis}),
              HasSubstr("images 0: 'neg_category_ids': expected an integer or "
                        "a text, got 1.5"));
  first.erase("neg_category_ids");
  EXPECT_THAT(refusal({"-m", lvis}),
              HasSubstr("images 0: expected 'neg_category_ids'"));
  EXPECT_EQ(run({"-m", "MeanAveragePrecision"}).status, 0);
}

}  // namespace
}  // namespace tally::cli

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tally/tests/cli/files.h"
#include "tally/tests/cli/run_tally.h"

namespace tally::cli {
namespace {

using tally::testkit::Program;
using tally::testkit::run_program;
using ::testing::HasSubstr;

class TallyPanopticTest : public ::testing::Test {
 protected:
  void SetUp() override { write_segments(folder_); }

  static Json values_of(Words words) {
    words.insert(words.end(), {"--format", "json"});
    const Program::Result result = run_program(evaluate(words));
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_EQ(result.errors, "");
    return result.status == 0 ? Json::parse(result.output).at("metrics")
                              : Json();
  }
  static std::string errors_of(const Words& words) {
    const Program::Result result = run_program(evaluate(words));
    EXPECT_EQ(result.status, 2) << result.output;
    return result.errors;
  }

  Folder folder_;
  const std::string annotations_ = folder_.write("gt.json", R"({
    "categories": [{"id": 1, "name": "cat", "isthing": 1},
                   {"id": 2, "name": "sky", "isthing": 0}],
    "annotations": [
      {"image_id": 11, "file_name": "11.png", "segments_info": [
        {"id": 70000, "category_id": 1, "iscrowd": 1},
        {"id": 300, "category_id": 1, "iscrowd": 0}]},
      {"image_id": 10, "file_name": "10.png", "segments_info": [
        {"id": 1, "category_id": 1}, {"id": 2, "category_id": 2}]}]})");
  const std::string results_ = folder_.write("dt.json", R"({"annotations": [
      {"image_id": 10, "file_name": "10.png", "segments_info": [
        {"id": 7, "category_id": 1}, {"id": 8, "category_id": 2}]},
      {"image_id": 11, "file_name": "11.png", "segments_info": [
        {"id": 9, "category_id": 1}]}]})");
};

// See PanopticFilesTest.
TEST_F(TallyPanopticTest, CategoriesAreThoseOfTheFile) {
  for (const char* ranks : {"1", "3"}) {
    const Json values =
        values_of({"--coco", annotations_, results_, "--ranks", ranks, "-m",
                   "a=PanopticQuality(return_sq_and_rq=true); "
                   "c=PanopticQuality(return_per_class=true); "
                   "m=ModifiedPanopticQuality; t=PanopticQuality(stuffs=[])"});
    EXPECT_NEAR(values.at("a.pq").get<double>(), 0.625, 1e-12);
    EXPECT_NEAR(values.at("a.sq").get<double>(), 0.75, 1e-12);
    EXPECT_NEAR(values.at("a.rq").get<double>(), 5.0 / 6, 1e-12);
    EXPECT_NEAR(values.at("c.pq")[0].get<double>(), 0.5, 1e-12);
    EXPECT_NEAR(values.at("c.pq")[1].get<double>(), 0.75, 1e-12);
    EXPECT_EQ(values.at("c.classes"), Json({1, 2}));
    EXPECT_NEAR(values.at("m.pq").get<double>(), 0.625, 1e-12);
    EXPECT_NEAR(values.at("t.pq").get<double>(), 0.5, 1e-12);
  }
}

TEST_F(TallyPanopticTest, ImagesMayBeElsewhere) {
  const std::string other = folder_.write("x/other.json", read_file(results_));
  const Json values =
      values_of({"--coco", annotations_, other, "--folders", folder_.path("gt"),
                 folder_.path("dt"), "-m", "PanopticQuality"});
  EXPECT_NEAR(values.at("PanopticQuality.pq").get<double>(), 0.625, 1e-12);
  EXPECT_THAT(errors_of({"--coco", annotations_, other, "--folders",
                         folder_.path("gt"), "-m", "PanopticQuality"}),
              HasSubstr("--folders: expected a folder for each of the 2 files "
                        "of --coco, got 1"));
  EXPECT_THAT(errors_of({"--coco", annotations_, other, "--folders", "a", "b"}),
              HasSubstr("--folders: expected metrics of segments, which have "
                        "images, got MeanAveragePrecision"));
  EXPECT_THAT(errors_of({"--csv", other, "--folders", "a", "-m", "MeanMetric"}),
              HasSubstr("--folders: requires --coco"));
}

TEST_F(TallyPanopticTest, MetricsOfObjectsAreEvaluatedByThemselves) {
  EXPECT_THAT(
      errors_of({"--coco", annotations_, results_, "-m",
                 "PanopticQuality; MeanAveragePrecision"}),
      HasSubstr("--coco: expected metrics of objects, or of segments, got "
                "PanopticQuality and MeanAveragePrecision: evaluate them one "
                "by one"));
}

TEST_F(TallyPanopticTest, RefusedCategoriesNameTheImage) {
  EXPECT_THAT(
      errors_of({"--coco", annotations_, results_, "-m",
                 "PanopticQuality(allow_unknown_preds_category=false)"}),
      HasSubstr(folder_.path("dt/11.png") +
                ": expected categories of preds among things and stuffs, got "
                "-1 (see"));
}

}  // namespace
}  // namespace tally::cli

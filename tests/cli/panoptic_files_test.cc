#include "tally/files/panoptic_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tally/metrics/detection/detection.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kCategories =
    R"("categories": [{"id": 1, "name": "cat", "isthing": 1},
                      {"id": 2, "name": "sky", "isthing": 0}])";

class PanopticFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_segments(folder_);
    write_annotations("");
    write_results("");
  }

  std::string write_annotations(const std::string& more) const {
    return folder_.write("gt.json", std::string("{") + kCategories + R"(,
      "annotations": [
        {"image_id": 11, "file_name": "11.png", "segments_info": [
          {"id": 70000, "category_id": 1, "iscrowd": 1},
          {"id": 300, "category_id": 1, "iscrowd": 0}]},
        {"image_id": 10, "file_name": "10.png", "segments_info": [
          {"id": 1, "category_id": 1}, {"id": 2, "category_id": 2}]})" +
                                        more + "]}");
  }
  std::string write_results(const std::string& more) const {
    return folder_.write("dt.json", R"({"annotations": [
        {"image_id": 10, "file_name": "10.png", "segments_info": [
          {"id": 7, "category_id": 1}, {"id": 8, "category_id": 2}]},
        {"image_id": 11, "file_name": "11.png", "segments_info": [
          {"id": 9, "category_id": 1}]})" +
                                        more + "]}");
  }
  files::PanopticFiles open() const {
    return {{folder_.path("gt.json")}, {{folder_.path("dt.json")}}};
  }
  /// What is wrong with the images.
  std::string refused_images() const {
    return refusal_of([&] { open().read(0, 2); });
  }

  Folder folder_;
};

// Cats: 3 of 4 pixels, and one that is missed, as what is found lies in a
// crowd. Sky: 3 of 4 pixels, as one of 5 is void.
TEST_F(PanopticFilesTest, FeedPanopticQuality) {
  const files::PanopticFiles files = open();
  EXPECT_THAT(files.things(), ElementsAre(1));
  EXPECT_THAT(files.stuffs(), ElementsAre(2));
  EXPECT_EQ(files.most_pixels(), 8);
  EXPECT_EQ(files.image_ids()[1].item<std::int64_t>(), 11);
  EXPECT_EQ(files.result_path(1), folder_.path("dt/11.png"));
  EXPECT_EQ(files.remarks(), "");
  for (const std::int64_t step : {1, 2}) {
    PanopticQuality quality(
        PanopticQualityOptions(files.things(), files.stuffs())
            .allow_unknown_preds_category(true)
            .return_sq_and_rq(true)
            .return_per_class(true));
    for (std::int64_t begin = 0; begin < 2; begin += step) {
      const auto images = files.read(begin, begin + step);
      quality.update(images.preds, images.target, images.crowd);
    }
    const Results values = quality.compute();
    EXPECT_DOUBLE_EQ(values["pq"][0].item<double>(), 0.5);
    EXPECT_DOUBLE_EQ(values["sq"][0].item<double>(), 0.75);
    EXPECT_DOUBLE_EQ(values["rq"][0].item<double>(), 2.0 / 3);
    EXPECT_DOUBLE_EQ(values["pq"][1].item<double>(), 0.75);
  }
}

TEST_F(PanopticFilesTest, SegmentsOfStuffsOfOneImageAreOne) {
  folder_.write("dt/10.png", png_of_ids({{7, 7, 8, 8}, {7, 3, 8, 8}}));
  folder_.write("dt.json", R"({"annotations": [
      {"image_id": 10, "file_name": "10.png", "segments_info": [
        {"id": 7, "category_id": 1}, {"id": 8, "category_id": 2},
        {"id": 3, "category_id": 2}]},
      {"image_id": 11, "file_name": "11.png", "segments_info": [
        {"id": 9, "category_id": 1}]}]})");
  EXPECT_EQ(open().remarks(),
            "segments of stuffs that are one with another of their image and "
            "category: 1\n");
}

TEST_F(PanopticFilesTest, IdsMayBeTexts) {
  folder_.write("gt.json", R"({
    "categories": [{"id": "sky", "isthing": false},
                   {"id": "cat", "isthing": true}],
    "annotations": [{"image_id": "a.jpg", "file_name": "10.png",
      "segments_info": [{"id": 1, "category_id": "cat"},
                        {"id": 2, "category_id": "sky"}]}]})");
  folder_.write("dt.json", R"({"annotations": [
      {"image_id": "a.jpg", "file_name": "10.png", "segments_info": [
        {"id": 7, "category_id": "cat"}, {"id": 8, "category_id": "sky"}]}]})");
  const files::PanopticFiles files = open();
  EXPECT_THAT(files.things(), ElementsAre(0));
  EXPECT_THAT(files.stuffs(), ElementsAre(1));
  EXPECT_EQ(files.remarks(), "categories: 0 is 'cat', 1 is 'sky'\n");
}

TEST_F(PanopticFilesTest, ResultsMayBeInSeveralFiles) {
  folder_.write("one/11.png", png_of_ids({{9, 9, 0}}));
  folder_.write("one.json", R"({"annotations": [
      {"image_id": 11, "file_name": "11.png", "segments_info": [
        {"id": 9, "category_id": 1}]}]})");
  folder_.write("two.json", R"({"annotations": [
      {"image_id": 10, "file_name": "10.png", "segments_info": [
        {"id": 7, "category_id": 1}, {"id": 8, "category_id": 2}]}]})");
  const files::PanopticFiles files(
      {folder_.path("gt.json")},
      {{folder_.path("one.json")},
       {folder_.path("two.json"), folder_.path("dt")}});
  EXPECT_TRUE(files.read(0, 2).preds.equal(open().read(0, 2).preds));
}

TEST_F(PanopticFilesTest, ImagesThatDoNotFitAreNamed) {
  const auto refused = [&] { return refusal_of([&] { open(); }); };
  write_results(R"(, {"image_id": 12, "file_name": "1.png",
                      "segments_info": []})");
  EXPECT_EQ(refused(), folder_.path("dt.json") +
                           ": expected results of the images in " +
                           folder_.path("gt.json") +
                           ", got 1 of other images: image_id 12");
  write_results("");
  write_annotations(R"(, {"image_id": "b", "file_name": "1.png",
                          "segments_info": []})");
  EXPECT_EQ(refused(),
            folder_.path("dt.json") + ": expected a result of each image in " +
                folder_.path("gt.json") + ", got none of 1: image_id 'b'");
  write_annotations(R"(, {"image_id": 10, "file_name": "1.png",
                          "segments_info": []})");
  EXPECT_THAT(
      refused(),
      HasSubstr("annotations 2: expected each image once, got 10, which "
                "is that of " +
                folder_.path("gt.json") + ": annotations 1"));
  write_annotations("");
  folder_.write("dt/11.png", png_of_ids({{9, 9}}));
  EXPECT_EQ(refused(), folder_.path("dt/11.png") +
                           ": expected 3 x 1 pixels, as in " +
                           folder_.path("gt/11.png") + ", got 2 x 1");
}

TEST_F(PanopticFilesTest, SegmentsThatOnlyOneFileHasAreNamed) {
  folder_.write("dt/11.png", png_of_ids({{9, 9, 5}}));
  EXPECT_EQ(refused_images(), folder_.path("dt/11.png") +
                                  ": expected 0 or an id of 'segments_info' (" +
                                  folder_.path("dt.json") +
                                  ": annotations 1), got 5 in row 0, column 2");
  folder_.write("dt/11.png", png_of_ids({{0, 0, 0}}));
  EXPECT_EQ(refused_images(),
            folder_.path("dt/11.png") +
                ": expected pixels of all 'segments_info' (" +
                folder_.path("dt.json") +
                ": annotations 1), got none of the segment 9");
}

TEST_F(PanopticFilesTest, SegmentsThatAreWrongAreNamed) {
  const auto refused = [&](const std::string& segments) {
    folder_.write("dt.json", R"({"annotations": [{"image_id": 10,
        "file_name": "10.png", "segments_info": [)" +
                                 segments + "]}]}");
    const std::string message = refusal_of([&] {
      files::PanopticFiles({folder_.path("gt.json")},
                           {{folder_.path("dt.json")}});
    });
    const std::string start = folder_.path("dt.json") + ": annotations 0";
    EXPECT_EQ(message.rfind(start, 0), 0u) << message;
    return message.substr(start.size());
  };
  EXPECT_EQ(refused("7"),
            ": 'segments_info': expected a list of objects, got "
            "[7]");
  EXPECT_EQ(refused(R"({"category_id": 1})"),
            ": segments_info 0: expected 'id'");
  EXPECT_EQ(refused(R"({"id": 7, "category_id": 1}, {"id": 0})"),
            ": segments_info 1: expected an id from 1 to 16777215, got 0");
  EXPECT_EQ(refused(R"({"id": 7, "category_id": 1},
                       {"id": 7, "category_id": 2})"),
            ": segments_info 1: expected each id once, got 7 twice");
  folder_.write("gt.json", std::string("{") + kCategories + R"(,
    "annotations": [{"image_id": 10, "file_name": "10.png", "segments_info":
      [{"id": 1, "category_id": 1}, {"id": 2, "category_id": 2}]}]})");
  EXPECT_EQ(refused(R"({"id": 7, "category_id": 9})"),
            ": expected 'category_id' among the categories of the annotations, "
            "got 9 for the segment 7");
}

TEST_F(PanopticFilesTest, FoldersThatAreMissingAreNamed) {
  const auto refused = [&](const files::PanopticPart& results) {
    return refusal_of(
        [&] { files::PanopticFiles({folder_.path("gt.json")}, {results}); });
  };
  EXPECT_EQ(refused({folder_.write("x.json", "{}")}),
            folder_.path("x.json") + ": expected a folder " +
                folder_.path("x") +
                " with its PNG files, got none (see --folders)");
  EXPECT_EQ(refused({folder_.write("x.txt", "{}")}),
            folder_.path("x.txt") +
                ": expected a name that ends in .json, or the folder of its "
                "PNG files (--folders)");
  folder_.write("gt.json", std::string("{") + kCategories + "}");
  EXPECT_EQ(
      refused({folder_.path("dt.json")}),
      folder_.path("gt.json") + ": expected 'annotations', got no such list");
  folder_.write("gt.json", R"({"categories": [{"id": 1}]})");
  EXPECT_EQ(refused({folder_.path("dt.json")}),
            folder_.path("gt.json") + ": categories 0: expected 'isthing'");
}

}  // namespace
}  // namespace tally::cli

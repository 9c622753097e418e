#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tally/tests/cli/files.h"
#include "tally/tests/examples/program.h"

namespace tally::cli {
namespace {

using tally::testkit::Program;
using tally::testkit::run_program;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

// Two images; the second cat, whose annotation has the id 0, is found, and so
// is the dog; the first cat is found at an overlap of 0.6.
constexpr const char* kAnnotations = R"({
  "info": {"year": 2026},
  "images": [{"id": 9, "height": 20, "width": 20, "file_name": "b.png"},
             {"id": 4, "height": 20, "width": 20}],
  "annotations": [
    {"id": 1, "image_id": 4, "category_id": 3, "bbox": [0, 0, 10, 10],
     "area": 100, "iscrowd": 0,
     "segmentation": [[0, 0, 0, 10, 10, 10, 10, 0]]},
    {"id": 0, "image_id": 9, "category_id": 3, "bbox": [5, 5, 10, 10],
     "area": 100, "iscrowd": 0,
     "segmentation": {"size": [20, 20], "counts": [105, 1, 294]}},
    {"id": 2, "image_id": 9, "category_id": 5, "bbox": [0, 0, 4, 4],
     "area": 16, "segmentation": [[0, 0, 0, 4, 4, 4, 4, 0]]}],
  "categories": [{"id": 5, "name": "dog"}, {"id": 3, "name": "cat"},
                 {"id": 7, "name": "bird"}]})";
constexpr const char* kResults = R"([
  {"image_id": 9, "category_id": 3, "bbox": [5, 5, 10, 10], "score": 0.9,
   "segmentation": {"size": [20, 20], "counts": [105, 1, 294]}},
  {"image_id": 4, "category_id": 3, "bbox": [0, 0, 6, 10], "score": 0.8,
   "segmentation": {"size": [20, 20], "counts": [0, 1, 399]}},
  {"image_id": 9, "category_id": 5, "bbox": [0, 0, 4, 4], "score": 0.7,
   "segmentation": {"size": [20, 20], "counts": [0, 4, 16, 4, 16, 4, 16, 4, 336]}}
])";

class TallyCocoTest : public ::testing::Test {
 protected:
  Program::Result evaluate(const Words& more) const {
    Words words = {"cli/tally", "evaluate", "--coco", annotations_, results_};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words);
  }

  Folder folder_;
  const std::string annotations_ = folder_.write("gt.json", kAnnotations);
  const std::string results_ = folder_.write("dt.json", kResults);
};

TEST_F(TallyCocoTest, PrintsTheLinesOfCocoAndCategories) {
  const Program::Result result = evaluate({});
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  // The first cat is found at 3 of 10 overlaps: a class of 1 and one of 0.65.
  EXPECT_THAT(result.output,
              HasSubstr(" Average Precision  (AP) @[ IoU=0.50:0.95 | area=   "
                        "all | maxDets=100 ] = 0.827\n"
                        " Average Precision  (AP) @[ IoU=0.50      | area=   "
                        "all | maxDets=100 ] = 1.000\n"));
  EXPECT_THAT(result.output,
              HasSubstr(" Average Recall     (AR) @[ IoU=0.50:0.95 | area=   "
                        "all | maxDets=  1 ] = 0.825\n"));
  EXPECT_THAT(result.output, HasSubstr("\n  0.653   0.650  cat\n"
                                       "  1.000   1.000  dog\n"
                                       " -1.000  -1.000  bird\n"));
}

Json parsed(const Program::Result& result) {
  EXPECT_EQ(result.status, 0) << result.errors;
  return result.status == 0 ? Json::parse(result.output) : Json();
}

TEST_F(TallyCocoTest, RanksGiveTheSame) {
  const Json one = parsed(evaluate({"--format", "json"}));
  for (const char* key :
       {"map", "map_50", "map_75", "map_small", "map_medium", "map_large",
        "mar_1", "mar_10", "mar_100", "mar_small", "mar_medium", "mar_large"}) {
    EXPECT_TRUE(one.at("metrics").contains(key)) << key;
  }
  const Json two = parsed(evaluate({"--format", "json", "--ranks", "2"}));
  EXPECT_EQ(two.at("metrics"), one.at("metrics"));
  EXPECT_EQ(two.at("rows"), 2);
}

TEST_F(TallyCocoTest, KeysDoNotDependOnHowManyMetricsThereAre) {
  const std::string metric = "a=MeanAveragePrecision";
  const Json two = parsed(evaluate(
      {"--format", "json", "--metrics", metric + "; b=MeanAverageRecall"}));
  const Json one = parsed(evaluate({"--format", "json", "--metrics", metric}));
  const Json unnamed = parsed(
      evaluate({"--format", "json", "--metrics", "MeanAveragePrecision"}));
  const Json none = parsed(evaluate({"--format", "json"}));
  for (const auto& [key, value] : none.at("metrics").items()) {
    EXPECT_EQ(two.at("metrics").at("a." + key), value) << key;
    EXPECT_EQ(one.at("metrics").at("a." + key), value) << key;
    EXPECT_EQ(unnamed.at("metrics").at("MeanAveragePrecision." + key), value);
  }
  EXPECT_EQ(one.at("metrics").size(), none.at("metrics").size());
  EXPECT_EQ(none.at("dimensions"),
            Json::parse(R"({"map_per_class": ["listed class"],
                            "mar_100_per_class": ["listed class"],
                            "classes": ["listed class"]})"));
  // The lines of COCO's tools are those of the one metric, whatever its name.
  EXPECT_EQ(evaluate({"--metrics", metric}).output, evaluate({}).output);
}

TEST_F(TallyCocoTest, IntervalsAndReplicatesAreNamedAsResults) {
  const std::string replicates = folder_.write("r.json", "");
  for (const bool is_named : {false, true}) {
    Words words = {"--format", "json",         "--interval",
                   "0.9",      "--replicates", replicates};
    words.insert(words.end(), {"--metrics", is_named ? "a=MeanAverageRecall"
                                                     : "MeanAverageRecall"});
    const Json all = parsed(evaluate(words));
    for (const auto& [key, interval] : all.at("intervals").items()) {
      EXPECT_TRUE(all.at("metrics").contains(key)) << key;
    }
    EXPECT_FALSE(all.at("intervals").empty());
  }
}

// All are found; of the first cat less than is asked for below.
TEST_F(TallyCocoTest, CountsDetectionsAtAScore) {
  const Json metrics =
      parsed(
          evaluate({"--format", "json", "--ranks", "2", "--metrics",
                    "all=DetectionConfusionMatrix; "
                    "best=DetectionConfusionMatrix(num_classes=6, "
                    "score_threshold=0.85); "
                    "f1=DetectionF1Score(iou_threshold=0.6); "
                    "recall=DetectionRecall(iou_threshold=0.6, average=none)"}))
          .at("metrics");
  // Labels are ids, up to the 7 of birds.
  EXPECT_EQ(metrics.at("all").size(), 9u);
  EXPECT_EQ(metrics.at("all")[3][3], 2);
  EXPECT_EQ(metrics.at("all")[5][5], 1);
  EXPECT_EQ(metrics.at("best").size(), 7u);
  EXPECT_EQ(metrics.at("best")[3], Json::parse("[0, 0, 0, 1, 0, 0, 1]"));
  EXPECT_EQ(metrics.at("best")[5], Json::parse("[0, 0, 0, 0, 0, 0, 1]"));
  EXPECT_EQ(metrics.at("f1"), 0.75);
  EXPECT_EQ(metrics.at("recall"), Json::parse("[0, 0, 0, 0.5, 0, 1, 0, 0]"));
}

TEST_F(TallyCocoTest, CocoFilesHavePixels) {
  const Program::Result result =
      evaluate({"--metrics", "MeanAveragePrecision(coordinates=normalized)"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors,
              HasSubstr("--coco: MeanAveragePrecision: expected "
                        "coordinates=pixels, which COCO's files have, got "
                        "normalized"));
}

TEST_F(TallyCocoTest, ReadsMasks) {
  const Json metrics =
      parsed(evaluate(
                 {"--format", "json", "--metrics",
                  "m=MeanAveragePrecision(iou_type=segm, class_metrics=true)"}))
          .at("metrics");
  const Json& values = metrics.at("m.map_per_class");
  EXPECT_NEAR(values[0].get<double>(), 51.0 / 101, 1e-12);
  EXPECT_NEAR(values[1].get<double>(), 1, 1e-12);
}

// By hand: the first cat overlaps by 0.6, the others and the dog are equal.
TEST_F(TallyCocoTest, OverlapsOfBoxes) {
  const auto values = [&](const std::string& metric, const char* ranks) {
    return parsed(evaluate({"--format", "json", "--ranks", ranks, "--metrics",
                            "o=" + metric + "(class_metrics=true)"}))
        .at("metrics");
  };
  for (const char* ranks : {"1", "3"}) {
    const Json iou = values("IntersectionOverUnion", ranks);
    EXPECT_NEAR(iou.at("o.iou").get<double>(), 2.6 / 3, 1e-12);
    EXPECT_EQ(iou.at("o.classes"), Json({3, 5}));
    EXPECT_NEAR(iou.at("o.iou_per_class")[0].get<double>(), 0.8, 1e-12);
    EXPECT_EQ(iou.at("o.iou_per_class")[1], 1.0);
    // The hull is the larger box, and the centers are 2 apart in it.
    EXPECT_NEAR(values("GeneralizedIntersectionOverUnion", ranks)
                    .at("o.giou")
                    .get<double>(),
                2.6 / 3, 1e-12);
    EXPECT_NEAR(values("DistanceIntersectionOverUnion", ranks)
                    .at("o.diou")
                    .get<double>(),
                (2.6 - 4.0 / 200) / 3, 1e-12);
    EXPECT_LT(values("CompleteIntersectionOverUnion", ranks)
                  .at("o.ciou")
                  .get<double>(),
              (2.6 - 4.0 / 200) / 3);
  }
}

TEST_F(TallyCocoTest, OverlapsThatAreTooSmallAreLeftOut) {
  const Json values =
      parsed(evaluate({"--format", "json", "--metrics",
                       "i=IntersectionOverUnion(class_metrics=true, "
                       "iou_threshold=0.75)"}))
          .at("metrics");
  EXPECT_EQ(values.at("i.iou"), 1.0);
  EXPECT_EQ(values.at("i.iou_per_class"), Json({1.0, 1.0}));
}

TEST_F(TallyCocoTest, OverlapsAndPrecisionsTogether) {
  const Json map = parsed(evaluate({"--format", "json"})).at("metrics");
  for (const char* ranks : {"1", "3"}) {
    const Json all =
        parsed(evaluate({"--format", "json", "--ranks", ranks, "--metrics",
                         "a=MeanAveragePrecision; i=IntersectionOverUnion; "
                         "m=MinMaxMetric(metric=MeanAverageRecall(iou_type="
                         "segm))"}))
            .at("metrics");
    for (const auto& [key, value] : map.items()) {
      EXPECT_EQ(all.at("a." + key), value) << key;
    }
    EXPECT_NEAR(all.at("i.iou").get<double>(), 2.6 / 3, 1e-12);
  }
}

TEST_F(TallyCocoTest, ResultsMayBeInSeveralFiles) {
  const Json one = parsed(evaluate({"--format", "json"})).at("metrics");
  const Json all = Json::parse(kResults);
  // The second image is in both.
  folder_.write("parts/0.json", Json::array({all[0], all[1]}).dump());
  folder_.write("parts/1.json", Json::array({all[2]}).dump());
  const std::string first = folder_.path("parts/0.json");
  const std::string second = folder_.path("parts/1.json");
  const auto values = [&](const Words& results) {
    Words words = {"cli/tally", "evaluate", "--format",
                   "json",      "--coco",   annotations_};
    words.insert(words.end(), results.begin(), results.end());
    return run_program(words);
  };
  EXPECT_EQ(parsed(values({first, second})).at("metrics"), one);
  EXPECT_EQ(parsed(values({folder_.path("parts")})).at("metrics"), one);
  EXPECT_EQ(parsed(values({folder_.path("parts/*.json"), "--ranks", "2"}))
                .at("metrics"),
            one);
  EXPECT_THAT(values({first, second, first}).errors,
              HasSubstr("expected each file once, got " + first + " twice"));
  EXPECT_THAT(values({annotations_}).errors,
              HasSubstr("expected each file once, got " + annotations_));
  EXPECT_THAT(values({}).errors,
              HasSubstr("--coco: expected annotations followed by one "
                        "or more files of results, got one file"));
  EXPECT_THAT(run_program({"cli/tally", "evaluate", "--coco",
                           folder_.path("parts"), results_})
                  .errors,
              HasSubstr("--coco: expected one file of annotations in front, "
                        "got 2 in " +
                        folder_.path("parts")));
  // Each image is named with its files.
  folder_.write("parts/2.json", R"([{"image_id": 9, "category_id": 3,
                                     "bbox": [1, 1, -1, 1], "score": 1}])");
  EXPECT_THAT(values({folder_.path("parts")}).errors,
              HasSubstr(first + " and " + second + " and " +
                        folder_.path("parts/2.json") + ", image 9: preds"));
  folder_.write("parts/2.json", R"([{"image_id": 1, "category_id": 3,
                                     "bbox": [1, 1, 1, 1], "score": 1}])");
  EXPECT_THAT(values({folder_.path("parts")}).errors,
              HasSubstr(folder_.path("parts/2.json") +
                        ": expected results of the images in " + annotations_ +
                        ", got 1 of other images: image_id 1\n"));
}

TEST_F(TallyCocoTest, CompressedFilesAndPipes) {
  const Json one = parsed(evaluate({"--format", "json"})).at("metrics");
  const std::string packed = folder_.path("packed");
  const auto shell = [](const std::string& command) {
    return run_program({"/bin/bash", "-c", command});
  };
  ASSERT_EQ(shell("gzip -c " + annotations_ + " > " + packed).status, 0);
  const std::string start = "cli/tally evaluate --format json --coco ";
  for (const char* ranks : {"1", "2"}) {
    const std::string end = std::string(" --ranks ") + ranks;
    EXPECT_EQ(
        parsed(shell(start + packed + " " + results_ + end)).at("metrics"),
        one);
    EXPECT_EQ(parsed(shell(start + packed + " - " + end + " < " + results_))
                  .at("metrics"),
              one);
  }
  EXPECT_THAT(shell(start + "- - < " + results_).errors,
              HasSubstr("--coco: - (standard input) can be given only once"));
  ASSERT_EQ(shell("head -c 100 " + packed + " > " + folder_.path("cut")).status,
            0);
  EXPECT_THAT(shell(start + folder_.path("cut") + " " + results_).errors,
              HasSubstr("expected a whole gzip file"));
}

TEST_F(TallyCocoTest, CategoriesMayHaveTextsAsIds) {
  const auto with_texts = [](std::string text) {
    for (const auto& [from, to] :
         {std::make_pair("_id\": 3", "_id\": \"cat\""),
          std::make_pair("_id\": 5", "_id\": \"dog\""),
          std::make_pair("{\"id\": 5", "{\"id\": \"dog\""),
          std::make_pair("{\"id\": 3, \"name", "{\"id\": \"cat\", \"name")}) {
      for (auto at = text.find(from); at != text.npos; at = text.find(from)) {
        text.replace(at, std::string(from).size(), to);
      }
    }
    return text;
  };
  const Program::Result result =
      run_program({"cli/tally", "evaluate", "--format", "json", "--coco",
                   folder_.write("texts.json", with_texts(kAnnotations)),
                   folder_.write("found.json", with_texts(kResults))});
  // Behind the category 7.
  EXPECT_EQ(result.errors, "tally: categories: 8 is 'cat', 9 is 'dog'\n");
  const Json values = parsed(result).at("metrics");
  EXPECT_EQ(values.at("classes"), Json({8, 9}));
  EXPECT_EQ(values.at("map"),
            parsed(evaluate({"--format", "json"})).at("metrics").at("map"));
}

TEST_F(TallyCocoTest, NumbersAsTextsAreNumbers) {
  // Of an image and a category, both in the results alone.
  std::string text = kResults;
  for (const auto& [from, to] : {std::make_pair("_id\": 3", "_id\": \"3\""),
                                 std::make_pair("_id\": 5", "_id\": \"5\"")}) {
    for (auto at = text.find(from); at != text.npos; at = text.find(from)) {
      text.replace(at, std::string(from).size(), to);
    }
  }
  const Program::Result result =
      run_program({"cli/tally", "evaluate", "--format", "json", "--coco",
                   annotations_, folder_.write("texts.json", text)});
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(parsed(result).at("metrics"),
            parsed(evaluate({"--format", "json"})).at("metrics"));
}

TEST_F(TallyCocoTest, BadFilesNameTheItem) {
  const auto refused = [&](const std::string& results) {
    const Program::Result result =
        run_program({"cli/tally", "evaluate", "--coco", annotations_,
                     folder_.write("bad.json", results)});
    EXPECT_EQ(result.status, 2);
    return result.errors;
  };
  EXPECT_THAT(refused("{}"), HasSubstr("expected a list of results"));
  EXPECT_THAT(refused("[{\"image_id\": 9}]"),
              HasSubstr("bad.json: result 0: expected 'category_id'"));
  EXPECT_THAT(refused("[{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1], "
                      "\"score\": 1}]"),
              HasSubstr("result 0: 'bbox': expected a list of 4 numbers, got "
                        "[1]"));
  EXPECT_THAT(refused("[{\"image_id\": 1, \"category_id\": 3, \"bbox\": [1, 1, "
                      "1, 1], \"score\": 1}]"),
              HasSubstr("got 1 of other images: image_id 1\n"));
  EXPECT_THAT(
      refused("[{\"image_id\": 9, \"category_id\": 3, \"bbox\": [1, 1, "
              "-1, 1], \"score\": 1}]"),
      HasSubstr(
          "bad.json, image 9: preds of image 9: expected boxes of no negative "
          "width or height, got -1 x 1 for box 0"));
  const Program::Result overlap = run_program(
      {"cli/tally", "evaluate", "--metrics", "IntersectionOverUnion", "--coco",
       annotations_,
       folder_.write("bad.json", R"([{"image_id": 9, "category_id": 3,
                                      "bbox": [1, 1, -1, 1], "score": 1}])")});
  EXPECT_THAT(overlap.errors,
              HasSubstr("bad.json, image 9: preds: expected boxes of no "
                        "negative width or height, got -1 x 1 for box 0"));
  const Program::Result other = evaluate({"--metrics", "MeanSquaredError"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(
      other.errors,
      HasSubstr(
          "MeanSquaredError: expected preds to be real [N, ...], "
          "got COCO, COCO panoptic; it takes CSV columns, .npy, .npz, .jsonl"));
}

}  // namespace
}  // namespace tally::cli

#include "tally/cli/feeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tally/cli/source.h"
#include "tally/metrics/registry/registry.h"
#include "tally/tests/cli/files.h"
#include "tally/tests/testing/refusal.h"

namespace tally::cli {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

/// Files with a row of the inputs that a metric requires.
class FeedFiles {
 public:
  Arguments with(Feed feed, const std::vector<InputInfo>& inputs) const {
    Arguments arguments;
    std::string names, fields, members;
    for (const InputInfo& input : inputs) {
      if (input.is_optional) continue;
      const bool is_text = forms_of(input).is_text;
      const std::string comma = names.empty() ? "" : ",";
      names += comma + input.name;
      fields += comma + (is_text ? "a" : "1");
      members += comma + '"' + input.name + "\": " + (is_text ? "\"a\"" : "1");
      if (feed != Feed::kArrays && feed != Feed::kTexts) continue;
      arguments.input_names.emplace_back(input.name);
      arguments.inputs.push_back(feed == Feed::kArrays ? array_ : text_);
    }
    if (feed == Feed::kCoco) arguments.coco = {annotations_, results_};
    if (feed == Feed::kPanoptic) {
      arguments.coco = {segments_, found_segments_};
      arguments.folders = {folder_.path("gt"), folder_.path("gt")};
    }
    if (feed == Feed::kCsv) {
      arguments.csv = {folder_.write("a.csv", names + "\n" + fields + "\n")};
    }
    if (feed == Feed::kJsonLines) {
      arguments.inputs = {folder_.write("a.jsonl", "{" + members + "}\n")};
    }
    return arguments;
  }

 private:
  Folder folder_;
  std::string array_ = folder_.write("a.npy", npy<std::int64_t>("<i8", {1}));
  std::string text_ = folder_.write("a.txt", "a\n");
  std::string annotations_ =
      folder_.write("gt.json",
                    R"({"images": [{"id": 1, "neg_category_ids": [],
                      "not_exhaustive_category_ids": []}], "categories": [{"id": 1}],
          "annotations": [{"image_id": 1, "category_id": 1,
                           "bbox": [0, 0, 1, 1]}]})");
  std::string results_ =
      folder_.write("dt.json",
                    R"([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1],
           "score": 1}])");
  std::string image_ = folder_.write("gt/a.png", png_of_ids({{1}}));
  std::string segments_ =
      folder_.write("a.json",
                    R"({"categories": [{"id": 1, "isthing": 1}],
          "annotations": [{"image_id": 1, "file_name": "a.png",
                           "segments_info": [{"id": 1, "category_id": 1}]}]})");
  std::string found_segments_ = folder_.write("b.json", read_file(segments_));
};

TEST(FeedsTest, EveryMetricIsReadFromTheFilesThatAreListedAndNoOthers) {
  const FeedFiles files;
  for (const auto& [name, entry] : builtin_registry().entries()) {
    const std::string text = entry.example();
    const std::vector<MetricInputs> metrics = {
        {name, builtin_registry().inputs(text), text}};
    const std::vector<InputInfo>& inputs = metrics.front().inputs;
    const std::vector<Feed> feeds = feeds_of(inputs);
    EXPECT_EQ(feeds.empty(), feeds_text(inputs).rfind("no file: ", 0) == 0);
    EXPECT_TRUE(!feeds.empty() || name == "MultitaskWrapper") << name;
    for (const Feed feed : {Feed::kCsv, Feed::kArrays, Feed::kJsonLines,
                            Feed::kTexts, Feed::kCoco, Feed::kPanoptic}) {
      SCOPED_TRACE(name + " from " + tag_of(feed));
      const Arguments arguments = files.with(feed, inputs);
      if (std::find(feeds.begin(), feeds.end(), feed) != feeds.end()) {
        EXPECT_EQ(open_source(arguments, metrics)->rows(), 1);
        continue;
      }
      const std::string refusal =
          refusal_of([&] { open_source(arguments, metrics); });
      // Options that take two kinds of files say which one is wrong.
      const bool has_two = feed == Feed::kArrays || feed == Feed::kTexts ||
                           feed == Feed::kCoco || feed == Feed::kPanoptic;
      EXPECT_THAT(refusal, HasSubstr(has_two ? ": expected " : "; it "));
    }
  }
}

TEST(FeedsTest, ShapesDecideWhatATableHolds) {
  const auto feeds = [](InputKind kind, const char* words) {
    return feeds_text({InputInfo{"preds", kind, words}});
  };
  EXPECT_EQ(feeds(InputKind::kReal, "real [N, C, ...]"),
            "CSV columns, .npy, .npz, .jsonl");
  EXPECT_EQ(feeds(InputKind::kReal, "images [N, C, H, W] or [N, D, C, H, W]"),
            ".npy, .npz");
  EXPECT_EQ(feeds(InputKind::kReal, "images [N, C, H, W] or vectors [N, D]"),
            "CSV columns, .npy, .npz, .jsonl");
  EXPECT_EQ(feeds(InputKind::kAny, "complex [F, T] or float [F, T, 2]"),
            ".npy, .npz");
  EXPECT_EQ(feeds_text({}), "no file: its inputs are not declared");
  EXPECT_EQ(feeds_text({InputInfo{"preds", InputKind::kText, "texts"},
                        InputInfo{"boxes", InputKind::kRagged, "boxes"}}),
            "no file: none has all inputs");
}

}  // namespace
}  // namespace tally::cli

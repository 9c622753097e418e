#include "tally/metrics/detection/inputs/run_length_mask.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Polygons = std::vector<RunLengthMask::Polygon>;

const Json& masks() {
  static const Json json =
      Json::parse(std::ifstream("tests/reference/data/detection/masks.json"));
  return json;
}

TEST(RunLengthMaskTest, PolygonsHaveThePixelsOfPycocotools) {
  for (const Json& one : masks().at("polygons")) {
    const auto mask = RunLengthMask::from_polygons(
        one.at("height"), one.at("width"), one.at("polygons").get<Polygons>());
    EXPECT_EQ(mask.to_string(), one.at("runs").get<std::string>());
    EXPECT_EQ(mask.area(), one.at("area"));
  }
}

TEST(RunLengthMaskTest, AllFormsHoldTheSamePixels) {
  for (const Json& one : masks().at("polygons")) {
    const std::int64_t height = one.at("height"), width = one.at("width");
    const auto text = one.at("runs").get<std::string>();
    const auto mask = RunLengthMask::from_string(height, width, text);
    EXPECT_EQ(mask.to_string(), text);
    EXPECT_EQ(
        RunLengthMask::from_counts(height, width, mask.counts()).to_string(),
        text);
    EXPECT_EQ(RunLengthMask::from_tensor(mask.to_tensor()).to_string(), text);
  }
}

TEST(RunLengthMaskTest, OverlapsAreThoseOfPycocotools) {
  for (const Json& one : masks().at("overlaps")) {
    std::vector<RunLengthMask> all;
    for (const Json& runs : one.at("runs")) {
      all.push_back(RunLengthMask::from_string(
          one.at("height"), one.at("width"), runs.get<std::string>()));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        const std::int64_t both = all[i].intersection(all[j]);
        const std::int64_t either = one.at("is_crowd") == 1
                                        ? all[i].area()
                                        : all[i].area() + all[j].area() - both;
        const double overlap =
            both == 0 ? 0
                      : static_cast<double>(both) / static_cast<double>(either);
        EXPECT_EQ(overlap, one.at("overlaps")[i][j].get<double>());
      }
    }
  }
}

TEST(RunLengthMaskTest, RunsGoDownColumns) {
  at::Tensor pixels = at::zeros({2, 3}, at::kBool);
  pixels[0][1] = true;
  pixels[1][1] = true;
  const auto mask = RunLengthMask::from_tensor(pixels);
  EXPECT_EQ(mask.counts(), std::vector<std::int64_t>({2, 2, 2}));
  EXPECT_EQ(RunLengthMask::from_tensor(at::ones({2, 3}, at::kInt)).counts(),
            std::vector<std::int64_t>({0, 6}));
  EXPECT_EQ(RunLengthMask(2, 3).counts(), std::vector<std::int64_t>({6}));
}

TEST(RunLengthMaskTest, BadInputs) {
  EXPECT_THAT(refusal_of([] {
                RunLengthMask::from_counts(2, 2, {1, 2});
              }),
              HasSubstr("add up to the 4 pixels of a mask, got 3"));
  EXPECT_THAT(refusal_of([] { RunLengthMask::from_counts(2, 2, {5}); }),
              HasSubstr("got a run of 5 after 0"));
  EXPECT_THAT(refusal_of([] { RunLengthMask::from_string(2, 2, "\x7f"); }),
              HasSubstr("characters '0' to 'o'"));
  EXPECT_THAT(refusal_of([] { RunLengthMask::from_string(2, 2, "P"); }),
              HasSubstr("a text that ends early"));
  EXPECT_THAT(refusal_of([] {
                RunLengthMask::from_polygons(2, 2, Polygons{{0, 0, 1, 1}});
              }),
              HasSubstr("polygons of 6 coordinates or more"));
  EXPECT_THAT(
      refusal_of([] {
        RunLengthMask::from_polygons(2, 2, Polygons{{0, 0, 1, 1, 2e6, 0}});
      }),
      HasSubstr("coordinates up to 10^6"));
  EXPECT_THAT(refusal_of([] { RunLengthMask(0, 2); }),
              HasSubstr("expected a mask of 1 to 2^32 - 1 pixels"));
  EXPECT_THAT(
      refusal_of([] { RunLengthMask(2, 3).intersection(RunLengthMask(3, 2)); }),
      HasSubstr("expected masks of one size, got 2 x 3 and 3 x 2"));
  EXPECT_THAT(refusal_of<c10::TypeError>([] {
                RunLengthMask::from_tensor(at::full({2, 2}, 0.5));
              }),
              HasSubstr("a mask of bool or an integer dtype"));
}

}  // namespace
}  // namespace tally

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tally/metrics/detection/detection.h"
#include "tally/testing/compare.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::tally::testkit::same_bits;
using ::testing::HasSubstr;
using Images = std::vector<ImageObjects>;

constexpr auto kNormalized = BoxCoordinates::kNormalized;

// Of powers of 2, so that fractions are exact: height and width.
at::Tensor size_of(std::size_t image) {
  return image == 0 ? at::tensor({256, 512}) : at::tensor({1024, 128});
}

// A small, a medium and a large object; small ones of a tall image; nothing.
Images in_pixels() {
  Images all(3);
  all[0].boxes =
      at::tensor({8., 8., 24., 24., 64., 16., 128., 80., 128., 96., 256., 224.})
          .reshape({3, 4});
  all[1].boxes =
      at::tensor({0., 0., 16., 32., 96., 512., 120., 544.}).reshape({2, 4});
  all[2].boxes = at::zeros({0, 4});
  for (ImageObjects& image : all) {
    image.labels = at::zeros({image.boxes.size(0)}, at::kLong);
    image.scores = at::ones({image.boxes.size(0)}).mul(0.75);
  }
  return all;
}

Images found_in_pixels() {
  Images all = in_pixels();
  all[0].boxes = all[0].boxes.add(2);
  return all;
}

Images normalized(Images all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const at::Tensor size = size_of(i).flip(0).repeat(2);
    all[i].boxes = all[i].boxes.div(size);
    all[i].image_size = size_of(i);
  }
  return all;
}

FlatImageObjects joined(const Images& images) {
  std::vector<at::Tensor> boxes, labels, scores, sizes;
  std::vector<std::int64_t> counts;
  for (const ImageObjects& image : images) {
    boxes.push_back(image.boxes);
    labels.push_back(image.labels);
    scores.push_back(image.scores);
    sizes.push_back(image.image_size);
    counts.push_back(image.boxes.size(0));
  }
  FlatImageObjects flat;
  flat.objects.boxes = at::cat(boxes);
  flat.objects.labels = at::cat(labels);
  flat.objects.scores = at::cat(scores);
  flat.objects.image_size = at::stack(sizes);
  flat.counts = at::tensor(counts, at::kLong);
  return flat;
}

template <class M, class Preds, class Target>
Results value_of(const typename M::Options& options, const Preds& preds,
                 const Target& target) {
  M metric(options);
  metric.update(preds, target);
  return metric.compute_results();
}

template <class M>
void check_same(typename M::Options options) {
  const Results pixels = value_of<M>(options, found_in_pixels(), in_pixels());
  options.coordinates(kNormalized);
  const Images found = normalized(found_in_pixels());
  const Images annotated = normalized(in_pixels());
  EXPECT_TRUE(same_bits(value_of<M>(options, found, annotated), pixels));
  EXPECT_TRUE(same_bits(value_of<M>(options, joined(found), joined(annotated)),
                        pixels));
}

TEST(NormalizedBoxesTest, ValuesAreThoseOfPixels) {
  check_same<MeanAveragePrecision>(
      MeanAveragePrecisionOptions().extended_summary(true));
  check_same<MeanAverageRecall>({});
  // Those of LVIS come as a list.
  EXPECT_TRUE(same_bits(
      value_of<LVISAveragePrecision>(LVISOptions().coordinates(kNormalized),
                                     normalized(found_in_pixels()),
                                     normalized(in_pixels())),
      value_of<LVISAveragePrecision>({}, found_in_pixels(), in_pixels())));
  check_same<PascalVOCAveragePrecision>({});
  check_same<DetectionConfusionMatrix>(1);
  check_same<DetectionF1Score>(DetectionRateOptions(1).iou_threshold(0.8));
}

// Without image_size areas would be below 1, and all objects small.
TEST(NormalizedBoxesTest, AreasAreOfPixels) {
  const Results results = value_of<MeanAveragePrecision>(
      MeanAveragePrecisionOptions().coordinates(kNormalized),
      normalized(in_pixels()), normalized(in_pixels()));
  for (const char* name : {"map_small", "map_medium", "map_large"}) {
    EXPECT_NEAR(results[name].item<double>(), 1, 1e-12) << name;
  }
}

TEST(NormalizedBoxesTest, OtherFormatsAndKeypoints) {
  Images found = normalized(in_pixels());
  for (ImageObjects& image : found) {
    const at::Tensor low = image.boxes.narrow(1, 0, 2);
    const at::Tensor side = image.boxes.narrow(1, 2, 2).sub(low);
    image.boxes = at::cat({low.add(side.div(2)), side}, 1);
    image.box_format = BoxFormat::kCXCYWH;
  }
  const auto options = MeanAveragePrecisionOptions().coordinates(kNormalized);
  EXPECT_TRUE(same_bits(
      value_of<MeanAveragePrecision>(options, found, normalized(in_pixels())),
      value_of<MeanAveragePrecision>({}, in_pixels(), in_pixels())));

  ImageObjects person;
  person.boxes = at::tensor({0., 0., 64., 128.}).reshape({1, 4});
  person.keypoints =
      at::tensor({16., 32., 1., 48., 96., 1.}).reshape({1, 2, 3});
  person.labels = at::zeros({1}, at::kLong);
  person.scores = at::ones({1});
  ImageObjects moved = person;
  moved.keypoints = person.keypoints.add(2);
  const auto scaled = [](ImageObjects image) {
    const auto size = at::tensor({512., 256., 1.});
    image.keypoints = image.keypoints.div(size);
    image.boxes = image.boxes.div(at::tensor({512., 256., 512., 256.}));
    image.image_size = at::tensor({256, 512});
    return Images{image};
  };
  auto points = MeanAveragePrecisionOptions()
                    .iou_type(ObjectShape::kKeypoints)
                    .oks_sigmas({0.05, 0.1});
  const Results pixels =
      value_of<MeanAveragePrecision>(points, Images{moved}, Images{person});
  EXPECT_GT(pixels["map"].item<double>(), 0);
  EXPECT_LT(pixels["map"].item<double>(), 1);
  EXPECT_TRUE(
      same_bits(value_of<MeanAveragePrecision>(points.coordinates(kNormalized),
                                               scaled(moved), scaled(person)),
                pixels));
}

TEST(NormalizedBoxesTest, EachImageSaysItsSize) {
  MeanAveragePrecision map(
      MeanAveragePrecisionOptions().coordinates(kNormalized));
  const Images found = normalized(in_pixels());
  const auto refused = [&](const at::Tensor& size) {
    Images annotated = normalized(in_pixels());
    annotated[1].image_size = size;
    return refusal_of<c10::Error>([&] { map.update(found, annotated); });
  };
  EXPECT_THAT(refused({}),
              HasSubstr("target of image 1: expected image_size (height and "
                        "width in pixels) for normalized coordinates, got "
                        "none (MeanAveragePrecision)"));
  EXPECT_THAT(refused(at::tensor({256., 512.})),
              HasSubstr("expected an integer image_size, got Double"));
  EXPECT_THAT(refused(at::tensor({256})),
              HasSubstr("expected image_size [2], got [1]"));
  EXPECT_THAT(refused(at::tensor({256, 0})),
              HasSubstr("expected an image_size of 1 or more pixels, got 0"));
  FlatImageObjects flat = joined(normalized(in_pixels()));
  flat.objects.image_size = flat.objects.image_size.narrow(0, 0, 2);
  EXPECT_THAT(refusal_of<c10::Error>([&] { map.update(found, flat); }),
              HasSubstr("target: expected image_size [3, 2], got [2, 2]"));
}

// Rows of joined images, as intervals draw them.
TEST(NormalizedBoxesTest, SelectedImagesKeepTheirSize) {
  const FlatImageObjects flat = joined(normalized(in_pixels()));
  const Images rows = ImageObjectsList(flat).select({1, 0});
  EXPECT_TRUE(same_bits(rows[0].image_size, size_of(1)));
  EXPECT_TRUE(same_bits(rows[1].image_size, size_of(0)));
}

}  // namespace
}  // namespace tally

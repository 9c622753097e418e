#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/collection.h"
#include "tally/metrics/detection/detection_confusion_matrix.h"
#include "tally/metrics/detection/detection_rates.h"
#include "tally/testing/compare.h"
#include "tally/testing/ranks_test.h"

namespace tally {
namespace {

constexpr std::int64_t kClasses = 40;
constexpr std::int64_t kImages = 600;
using Images = std::vector<ImageObjects>;

ImageObjects objects(std::vector<double> lefts,
                     const std::vector<std::int64_t>& labels) {
  std::vector<double> boxes;
  for (const double left : lefts) {
    boxes.insert(boxes.end(), {left, 0, left + 9, 9});
  }
  ImageObjects all;
  all.boxes = at::tensor(boxes, at::kDouble).reshape({-1, 4});
  all.labels = at::tensor(labels, at::kLong);
  return all;
}

struct ManyClasses {
  Images found;
  Images annotated;
  at::Tensor matrix = at::zeros({kClasses + 1, kClasses + 1}, at::kLong);

  // Of each image's three objects the first is found, the second taken for the
  // next class, and the third missed, with a detection elsewhere.
  ManyClasses() {
    auto* const counts = matrix.mutable_data_ptr<std::int64_t>();
    const auto count = [&](std::int64_t object, std::int64_t detection) {
      ++counts[object * (kClasses + 1) + detection];
    };
    for (std::int64_t i = 0; i < kImages; ++i) {
      const std::int64_t a = i % kClasses, b = 7 * i % kClasses,
                         c = (3 * i + 1) % kClasses, next = (b + 1) % kClasses;
      annotated.push_back(objects({0, 20, 40}, {a, b, c}));
      found.push_back(objects({0, 20, 60}, {a, next, c}));
      found.back().scores = at::tensor({0.9, 0.8, 0.7});
      count(a, a);
      count(b, next);
      count(c, kClasses);
      count(kClasses, c);
    }
  }
};

// Where a matrix is large beside a batch, the state has pairs until these are
// more than the matrix: some on the first rank, which has all images but ten,
// and all on the second; a third has none.
THREAD_RANKS_TEST(DetectionCountsRanksTest, AnySplitOfManyClassesAgrees, 1, 2,
                  3) {
  const ManyClasses all;
  MetricCollection metrics;
  metrics.add("matrix", DetectionConfusionMatrix(kClasses));
  metrics.add(
      "recall",
      DetectionRecall(DetectionRateOptions(kClasses).average(Average::kMicro)));
  const auto update = [&](std::int64_t begin, std::int64_t end) {
    const auto part = [&](const Images& images) {
      return Images(images.begin() + begin, images.begin() + end);
    };
    metrics.update(part(all.found), part(all.annotated));
  };
  const std::int64_t split = self.size() == 1 ? kImages : kImages - 10;
  if (self.rank() == 0) {
    for (std::int64_t i = 0; i < split; i += 5) update(i, i + 5);
  }
  if (self.rank() == 1) update(split, kImages);
  const Results results = metrics.compute();
  EXPECT_TRUE(testkit::same_bits(results["matrix"], all.matrix));
  EXPECT_DOUBLE_EQ(results.number("recall"), 1.0 / 3);
}

}  // namespace
}  // namespace tally

// Metrics that are no means over samples, as losses: each has the value and the
// gradient of the global batch.

#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/audio/audio.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/detection/box_overlaps.h"
#include "tally/metrics/detection/complete_intersection_over_union.h"
#include "tally/metrics/detection/distance_intersection_over_union.h"
#include "tally/metrics/detection/generalized_intersection_over_union.h"
#include "tally/metrics/detection/intersection_over_union.h"
#include "tally/metrics/image/structural_similarity_index_measure.h"
#include "tally/metrics/regression/cosine_similarity.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/regression/r2_score.h"
#include "tally/testing/ranks_test.h"
#include "tally/tests/losses/loss_harness.h"

namespace tally::losses {
namespace {

using testkit::check_loss;
using testkit::LossInstance;
using testkit::LossSubject;
using testkit::normal_rows;
using Tensors = std::vector<at::Tensor>;
using Definition =
    std::function<at::Tensor(const at::Tensor& x, const at::Tensor& y)>;

/// Of 11 predictions of this size, [] for numbers, that a linear layer gives.
template <class Make>
LossSubject subject_of(const Make& make, const std::vector<std::int64_t>& size,
                       const Definition& definition = nullptr) {
  std::vector<std::int64_t> any = size, all = size;
  any.insert(any.begin(), -1);
  all.insert(all.begin(), 11);
  LossSubject subject;
  subject.make = [make, size, any] {
    const at::Tensor weight =
        normal_rows({4, c10::multiply_integers(size)}, 3).requires_grad_();
    return LossInstance{
        [loss = MetricLoss(make()), weight, any](const Tensors& batch) mutable {
          return loss->forward(batch[0].matmul(weight).view(any), batch[1]);
        },
        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({11, 4}, 1), normal_rows(all, 2)};
  if (!definition) return subject;
  subject.reference = [definition, any](const Tensors& batch,
                                        const Tensors& parameters) {
    return definition(batch[0].matmul(parameters[0]).view(any), batch[1]);
  };
  return subject;
}

TEST(MetricsAsLossesTest, PearsonCorrCoef) {
  check_loss(subject_of([] { return PearsonCorrCoef(); }, {},
                        [](const at::Tensor& x, const at::Tensor& y) {
                          const at::Tensor p = x - x.mean(), t = y - y.mean();
                          return (p * t).sum() /
                                 (p.square().sum() * t.square().sum()).sqrt();
                        }));
}

TEST(MetricsAsLossesTest, ConcordanceCorrCoef) {
  check_loss(subject_of([] { return ConcordanceCorrCoef(); }, {},
                        [](const at::Tensor& x, const at::Tensor& y) {
                          const at::Tensor p = x - x.mean(), t = y - y.mean();
                          // Variances are unbiased.
                          return 2 * (p * t).sum() /
                                 (p.square().sum() + t.square().sum() +
                                  10 * (x.mean() - y.mean()).square());
                        }));
}

TEST(MetricsAsLossesTest, R2Score) {
  check_loss(subject_of([] { return R2Score(); }, {},
                        [](const at::Tensor& x, const at::Tensor& y) {
                          return 1 - (x - y).square().sum() /
                                         (y - y.mean()).square().sum();
                        }));
}

TEST(MetricsAsLossesTest, ExplainedVariance) {
  check_loss(subject_of([] { return ExplainedVariance(); }, {},
                        [](const at::Tensor& x, const at::Tensor& y) {
                          const at::Tensor rest = y - x;
                          return 1 - (rest - rest.mean()).square().mean() /
                                         (y - y.mean()).square().mean();
                        }));
}

TEST(MetricsAsLossesTest, CosineSimilarity) {
  check_loss(subject_of(
      [] {
        return CosineSimilarity(CosineSimilarityOptions(RowReduction::kMean));
      },
      {3},
      [](const at::Tensor& x, const at::Tensor& y) {
        return ((x * y).sum(1) / (x.square().sum(1) * y.square().sum(1)).sqrt())
            .mean();
      }));
}

TEST(MetricsAsLossesTest, ScaleInvariantSignalDistortionRatio) {
  check_loss(subject_of(
      [] { return ScaleInvariantSignalDistortionRatio(); }, {9},
      [](const at::Tensor& x, const at::Tensor& y) {
        const at::Tensor scaled =
            (x * y).sum(1, true) / y.square().sum(1, true) * y;
        return (10 *
                (scaled.square().sum(1) / (scaled - x).square().sum(1)).log10())
            .mean();
      }));
}

TEST(MetricsAsLossesTest, SignalNoiseRatio) {
  check_loss(
      subject_of([] { return SignalNoiseRatio(); }, {9},
                 [](const at::Tensor& x, const at::Tensor& y) {
                   const at::Tensor noise = (y - x).square().sum(1);
                   return (y.square().sum(1) / noise).log10().mul(10).mean();
                 }));
}

TEST(MetricsAsLossesTest, ScaleInvariantSignalNoiseRatio) {
  check_loss(subject_of([] { return ScaleInvariantSignalNoiseRatio(); }, {9}));
}

TEST(MetricsAsLossesTest, ComplexScaleInvariantSignalNoiseRatio) {
  check_loss(subject_of([] { return ComplexScaleInvariantSignalNoiseRatio(); },
                        {2, 3, 2}));
}

TEST(MetricsAsLossesTest, SourceAggregatedSignalDistortionRatio) {
  check_loss(subject_of([] { return SourceAggregatedSignalDistortionRatio(); },
                        {2, 9}));
}

TEST(MetricsAsLossesTest, SignalDistortionRatio) {
  check_loss(subject_of(
      [] {
        return SignalDistortionRatio(
            SignalDistortionRatioOptions().filter_length(4));
      },
      {20}));
}

// The permutation is the sample's own.
TEST(MetricsAsLossesTest, PermutationInvariantTraining) {
  check_loss(subject_of(
      [] { return PermutationInvariantTraining("SignalNoiseRatio"); }, {3, 9}));
}

TEST(MetricsAsLossesTest, StructuralSimilarityIndexMeasure) {
  check_loss(subject_of(
      [] {
        return StructuralSimilarityIndexMeasure(
            StructuralSimilarityIndexMeasureOptions(/*data_range=*/10)
                .gaussian_kernel(false)
                .kernel_size(3));
      },
      {1, 5, 5},
      [](const at::Tensor& x, const at::Tensor& y) {
        const at::Tensor window = at::full({1, 1, 3, 3}, 1.0 / 9, x.options());
        const auto mean = [&](const at::Tensor& images) {
          return at::conv2d(images, window);
        };
        const at::Tensor mx = mean(x), my = mean(y), both = mx * my;
        const at::Tensor squares = mx * mx + my * my;
        const double c1 = 0.1 * 0.1, c2 = 0.3 * 0.3;
        return ((2 * both + c1) * (2 * (mean(x * y) - both) + c2) /
                ((squares + c1) * (mean(x * x + y * y) - squares + c2)))
            .mean();
      }));
}

/// [N, 4], of any corners and sides.
at::Tensor boxes_of(const at::Tensor& numbers) {
  const at::Tensor first = numbers.narrow(1, 0, 2);
  return at::cat({first, first.add(numbers.narrow(1, 2, 2).exp())}, 1);
}

/// An image for each box.
FlatImageObjects one_each(const at::Tensor& boxes) {
  const at::Tensor zeros = at::zeros({boxes.size(0)}, at::kLong);
  return {{boxes, {}, zeros}, zeros.add(1)};
}

/// `M`, of boxes that a linear layer gives.
template <class M>
LossSubject overlap_subject(BoxOverlap overlap, bool by_name = false) {
  LossSubject subject;
  subject.make = [by_name] {
    const at::Tensor weight = normal_rows({3, 4}, 3).requires_grad_();
    return LossInstance{
        [loss = MetricLoss(M(BoxOverlapOptions().pairs(BoxPairs::kPaired))),
         weight, by_name](const Tensors& batch) mutable {
          const auto found = one_each(boxes_of(batch[0].matmul(weight)));
          const auto target = one_each(batch[1]);
          return by_name ? loss->forward({{"target", target}, {"preds", found}})
                         : loss->forward(found, target);
        },
        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({11, 3}, 1), boxes_of(normal_rows({11, 4}, 2))};
  subject.reference = [overlap](const Tensors& batch,
                                const Tensors& parameters) {
    return box_overlaps(boxes_of(batch[0].matmul(parameters[0])), batch[1],
                        overlap)
        .mean();
  };
  return subject;
}

TEST(MetricsAsLossesTest, OverlapsOfBoxes) {
  check_loss(overlap_subject<IntersectionOverUnion>(BoxOverlap::kIoU));
  check_loss(overlap_subject<GeneralizedIntersectionOverUnion>(
      BoxOverlap::kGIoU, /*by_name=*/true));
  check_loss(overlap_subject<DistanceIntersectionOverUnion>(BoxOverlap::kDIoU));
  LossSubject complete =
      overlap_subject<CompleteIntersectionOverUnion>(BoxOverlap::kCIoU);
  // The weight of aspect ratios is a constant.
  complete.numerical = false;
  check_loss(complete);
}

// A rank with images, but without boxes in them, and one without images.
THREAD_RANKS_TEST(MetricsAsLossesTest, OverlapsOfRanksWithoutBoxes, 3) {
  MetricLoss loss{IntersectionOverUnion()};
  const at::Tensor boxes = at::tensor({0.0, 0.0, 2.0, 2.0}).view({1, 4});
  std::vector<ImageObjects> found, target;
  at::Tensor own = boxes.clone().requires_grad_();
  if (self.rank() < 2) {
    own = boxes.slice(0, 0, 1 - self.rank()).clone().requires_grad_();
    const at::Tensor labels = at::zeros({own.size(0)}, at::kLong);
    found = {{own, {}, labels}};
    target = {{boxes.slice(0, 0, own.size(0)).add(1), {}, labels}};
  }
  const at::Tensor value = loss->forward(found, target);
  EXPECT_NEAR(value.item<double>(), 1.0 / 7, 1e-12);
  if (self.rank() < 2) {
    value.backward();
    EXPECT_EQ(own.grad().sizes(), own.sizes());
  }
}

}  // namespace
}  // namespace tally::losses

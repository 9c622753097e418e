// Metrics that are no means over samples, as losses: each has the value and the
// gradient of the global batch.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tally/losses/metric_loss.h"
#include "tally/metrics/audio/scale_invariant_signal_distortion_ratio.h"
#include "tally/metrics/compositional.h"
#include "tally/metrics/regression/cosine_similarity.h"
#include "tally/metrics/regression/pearson_corr_coef.h"
#include "tally/metrics/regression/r2_score.h"
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

/// Of 11 rows of predictions that a linear layer gives: [11], or [11, outputs].
template <class Make>
LossSubject subject_of(const Make& make, std::int64_t outputs,
                       const Definition& definition) {
  std::vector<std::int64_t> sizes = {4}, targets = {11};
  if (outputs > 1) {
    sizes.push_back(outputs);
    targets.push_back(outputs);
  }
  LossSubject subject;
  subject.make = [make, sizes] {
    const at::Tensor weight = normal_rows(sizes, 3).requires_grad_();
    return LossInstance{
        [loss = MetricLoss(make()), weight](const Tensors& batch) mutable {
          return loss->forward(batch[0].matmul(weight), batch[1]);
        },
        {{"weight", weight}}};
  };
  subject.batch = {normal_rows({11, 4}, 1), normal_rows(targets, 2)};
  subject.reference = [definition](const Tensors& batch,
                                   const Tensors& parameters) {
    return definition(batch[0].matmul(parameters[0]), batch[1]);
  };
  return subject;
}

TEST(MetricsAsLossesTest, PearsonCorrCoef) {
  check_loss(subject_of([] { return PearsonCorrCoef(); }, 1,
                        [](const at::Tensor& x, const at::Tensor& y) {
                          const at::Tensor p = x - x.mean(), t = y - y.mean();
                          return (p * t).sum() /
                                 (p.square().sum() * t.square().sum()).sqrt();
                        }));
}

TEST(MetricsAsLossesTest, ConcordanceCorrCoef) {
  check_loss(subject_of([] { return ConcordanceCorrCoef(); }, 1,
                        [](const at::Tensor& x, const at::Tensor& y) {
                          const at::Tensor p = x - x.mean(), t = y - y.mean();
                          // Variances are unbiased.
                          return 2 * (p * t).sum() /
                                 (p.square().sum() + t.square().sum() +
                                  10 * (x.mean() - y.mean()).square());
                        }));
}

TEST(MetricsAsLossesTest, R2Score) {
  check_loss(subject_of([] { return R2Score(); }, 1,
                        [](const at::Tensor& x, const at::Tensor& y) {
                          return 1 - (x - y).square().sum() /
                                         (y - y.mean()).square().sum();
                        }));
}

TEST(MetricsAsLossesTest, ExplainedVariance) {
  check_loss(subject_of([] { return ExplainedVariance(); }, 1,
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
      3,
      [](const at::Tensor& x, const at::Tensor& y) {
        return ((x * y).sum(1) / (x.square().sum(1) * y.square().sum(1)).sqrt())
            .mean();
      }));
}

TEST(MetricsAsLossesTest, ScaleInvariantSignalDistortionRatio) {
  check_loss(subject_of(
      [] { return ScaleInvariantSignalDistortionRatio(); }, 9,
      [](const at::Tensor& x, const at::Tensor& y) {
        const at::Tensor scaled =
            (x * y).sum(1, true) / y.square().sum(1, true) * y;
        return (10 *
                (scaled.square().sum(1) / (scaled - x).square().sum(1)).log10())
            .mean();
      }));
}

}  // namespace
}  // namespace tally::losses

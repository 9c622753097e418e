#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/features/bert_score.h"
#include "tally/metrics/features/clip_score.h"
#include "tally/metrics/features/learned_perceptual_image_patch_similarity.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

using Lpips = LearnedPerceptualImagePatchSimilarity;
using LpipsOptions = LearnedPerceptualImagePatchSimilarityOptions;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(PairScoresTest, PassTheHarness) {
  testkit::HarnessOptions options;
  options.threads_rtol = 1e-12;
  testkit::check_metric<BERTScore>("features/BERTScore", options);
  options.differentiable_inputs = {0, 1};
  // Rows of zeros, around which values jump.
  options.skip_gradients = {"zeros"};
  testkit::check_metric<CLIPScore>("features/CLIPScore", options);
  testkit::check_metric<Lpips>("features/LearnedPerceptualImagePatchSimilarity",
                               options);
}

TEST(CLIPScoreTest, EachPairIsCutOffAtZero) {
  // Cosines of 0.4 and -0.2; TorchMetrics' mean is that of 0.4 and -0.2.
  const at::Tensor images = at::tensor({1.0, 0.0, 1.0, 0.0}, at::kDouble);
  const at::Tensor texts = at::tensor(
      {0.4, std::sqrt(1 - 0.16), -0.2, std::sqrt(1 - 0.04)}, at::kDouble);
  CLIPScore score;
  EXPECT_NEAR(score.forward(images.reshape({2, 2}), texts.reshape({2, 2}))
                  .item<double>(),
              0.5, 1e-12);
}

TEST(CLIPScoreTest, ZerosHaveAGradientOfZero) {
  const at::Tensor zeros =
      at::zeros({2, 3}, at::kDouble).set_requires_grad(true);
  CLIPScore score;
  const at::Tensor value = score.forward(zeros, at::ones({2, 3}));
  EXPECT_EQ(value.item<double>(), 0);
  value.backward();
  EXPECT_TRUE(zeros.grad().isfinite().all().item<bool>());
}

TEST(CLIPScoreTest, NaNAndBadInputs) {
  CLIPScore score;
  EXPECT_TRUE(std::isnan(score.compute().item<double>()));
  at::Tensor broken = at::ones({3, 2});
  broken[1][0] = kNaN;
  EXPECT_TRUE(
      std::isnan(score.forward(broken, at::ones({3, 2})).item<double>()));
  CLIPScore ignores({}, MetricOptions().nan_policy(NanPolicy::kIgnore));
  EXPECT_NEAR(ignores.forward(broken, at::ones({3, 2})).item<double>(), 2.5,
              1e-12);
  CLIPScore refuses({}, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of([&] { refuses.update(broken, broken); }),
              HasSubstr("expected features without NaN, got some in row 1"));
  EXPECT_THAT(refusal_of([&] { score.update(broken, broken[0]); }),
              HasSubstr("of the same shape"));
  EXPECT_THAT(refusal_of([&] { score.update(broken[0], broken[0]); }),
              HasSubstr("expected features of shape [N, D], got [2]"));
  EXPECT_THAT(refusal_of([] { CLIPScore bad(CLIPScoreOptions().scale(kNaN)); }),
              HasSubstr("'scale': expected a finite number"));
}

TEST(LpipsTest, ZerosHaveAGradientOfZero) {
  const at::Tensor images =
      at::zeros({1, 6}, at::kDouble).set_requires_grad(true);
  Lpips lpips(LpipsOptions({3}, {2}));
  lpips.forward(images, at::ones({1, 6})).backward();
  EXPECT_EQ(images.grad().abs().sum().item<double>(), 0);
}

TEST(LpipsTest, LayersOfANetwork) {
  const auto layers = [] {
    return flatten_layers({at::ones({2, 3, 2, 2}), at::zeros({2, 1, 1, 4})});
  };
  EXPECT_EQ(layers().sizes(), at::IntArrayRef({2, 16}));
  Lpips lpips(LpipsOptions({3, 1}, {4, 4}));
  EXPECT_EQ(lpips.forward(layers(), layers()).item<double>(), 0);
  EXPECT_THAT(refusal_of([] { flatten_layers({}); }),
              HasSubstr("expected layers, got none"));
  EXPECT_THAT(
      refusal_of([] {
        flatten_layers({at::ones({2, 3, 2, 2}), at::ones({3, 3, 2, 2})});
      }),
      HasSubstr("N as in the first, got [3, 3, 2, 2]"));
}

TEST(LpipsTest, BadOptionsAndInputsAreRefused) {
  Lpips lpips(LpipsOptions({3, 1}, {4, 4}));
  EXPECT_THAT(refusal_of([&] {
                lpips.update(at::ones({2, 12}), at::ones({2, 12}));
              }),
              HasSubstr("expected layers of shape [N, 16]"));
  EXPECT_THAT(refusal_of([] { Lpips bad(LpipsOptions({}, {})); }),
              HasSubstr("'channels': expected a size of at least 1"));
  EXPECT_THAT(refusal_of([] {
                Lpips bad(LpipsOptions({3}, {1, 2}));
              }),
              HasSubstr("'pixels': expected as many layers"));
  EXPECT_THAT(
      refusal_of([] {
        Lpips bad(LpipsOptions({3}, {1}).weights({1, 2}));
      }),
      HasSubstr("'weights': expected one for each of 3 channels, got 2"));
  EXPECT_THAT(
      refusal_of([] { Lpips bad(LpipsOptions({1}, {1}).weights({kNaN})); }),
      HasSubstr("'weights': expected finite numbers"));
}

TEST(BERTScoreTest, PaddingIsNeverMatched) {
  // All similarities are negative; those with padding would be 0.
  const at::Tensor preds = at::tensor({1.0, 0.0, 9.0, 9.0}, at::kDouble);
  const at::Tensor target = at::tensor({-1.0, 0.0, -0.8, 0.6}, at::kDouble);
  BERTScore score;
  const PrecisionRecallF1 value =
      score.forward(preds.reshape({1, 2, 2}), target.reshape({1, 2, 2}),
                    at::tensor({1, 0}, at::kLong).unsqueeze(0),
                    at::tensor({1, 1}, at::kLong).unsqueeze(0));
  EXPECT_NEAR(value.precision.item<double>(), -0.8, 1e-12);
  EXPECT_NEAR(value.recall.item<double>(), -0.9, 1e-12);
  // Nor does it matter what padding contains.
  at::Tensor broken = preds.clone();
  broken.narrow(0, 2, 2).fill_(kNaN);
  BERTScore other;
  EXPECT_TRUE(other
                  .forward(broken.reshape({1, 2, 2}), target.reshape({1, 2, 2}),
                           at::tensor({1, 0}, at::kLong).unsqueeze(0))
                  .recall.equal(value.recall));
}

TEST(BERTScoreTest, TextsWithoutTokensAreZero) {
  BERTScore score;
  EXPECT_TRUE(std::isnan(score.compute().f1.item<double>()));
  score.update(at::ones({1, 2, 3}), at::ones({1, 2, 3}),
               at::zeros({1, 2}, at::kLong));
  EXPECT_EQ(score.compute().f1.item<double>(), 0);
  EXPECT_EQ(score.compute().recall.item<double>(), 0);
  score.update(at::ones({1, 2, 3}), at::ones({1, 0, 3}));
  EXPECT_EQ(score.compute().precision.item<double>(), 0);
}

TEST(BERTScoreTest, BadInputsAreRefused) {
  BERTScore score;
  const at::Tensor texts = at::ones({2, 4, 3});
  EXPECT_THAT(refusal_of([&] {
                score.update(texts, at::ones({2, 4, 5}));
              }),
              HasSubstr("expected preds and target of as many texts and "
                        "dimensions, got [2, 4, 3] and [2, 4, 5]"));
  EXPECT_THAT(refusal_of([&] { score.update(texts[0], texts); }),
              HasSubstr("expected preds of shape [N, tokens, D]"));
  EXPECT_THAT(refusal_of([&] {
                score.update(texts, texts, at::full({2, 4}, 2, at::kLong));
              }),
              HasSubstr("expected preds_mask of 0 and 1, got 2"));
  EXPECT_THAT(refusal_of([&] {
                score.update(texts, texts, at::ones({2, 3}, at::kLong));
              }),
              HasSubstr("expected preds_mask of shape [2, 4]"));
  EXPECT_THAT(refusal_of([&] {
                score.update(texts, texts, at::Tensor(), at::Tensor(),
                             at::full({2, 4}, -1.0));
              }),
              HasSubstr("expected preds_weight of finite numbers"));
  EXPECT_THAT(
      refusal_of([] { BERTScore bad(BERTScoreOptions().recall_baseline(1)); }),
      HasSubstr("BERTScore: expected baselines below 1, got 1"));
  EXPECT_EQ(score.update_count(), 0);
}

}  // namespace
}  // namespace tally

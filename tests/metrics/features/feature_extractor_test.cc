#include "tally/metrics/features/feature_extractor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tally/metrics/features/frechet_inception_distance.h"
#include "tally/metrics/wrappers/wrappers.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string temporary(const char* name) {
  return std::string(std::getenv("TEST_TMPDIR")) + "/" + name;
}

TEST(FeatureExtractorTest, RunsInBatchesOfItsOwnSizeWithoutGradients) {
  std::vector<std::int64_t> sizes;
  const FeatureExtractor extractor(
      [&](const at::Tensor& images) {
        EXPECT_FALSE(at::GradMode::is_enabled());
        sizes.push_back(images.size(0));
        return images.mul(2);
      },
      FeatureExtractorOptions().batch_size(4).dtype(at::kDouble));
  const at::Tensor images = at::randn({10, 3, 2, 2}).set_requires_grad(true);
  const at::Tensor features = extractor(images);
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2));
  EXPECT_FALSE(features.requires_grad());
  EXPECT_TRUE(
      features.equal(images.detach().to(at::kDouble).mul(2).flatten(1)));
  EXPECT_EQ(extractor(images.narrow(0, 0, 0)).size(0), 0);
}

TEST(FeatureExtractorTest, ReadsTorchScript) {
  const std::string path = temporary("network.pt");
  torch::jit::Module module("Network");
  module.register_parameter("factor", at::arange(1, 4, at::kFloat), false);
  module.define("def forward(self, x):\n  return x * self.factor\n");
  module.save(path);
  const auto extractor = FeatureExtractor::load(path);
  ASSERT_TRUE(extractor.ok()) << extractor.status();
  const at::Tensor rows = at::randn({5, 3});
  EXPECT_TRUE((*extractor)(rows).equal(rows.mul(at::arange(1, 4))));
}

TEST(FeatureExtractorTest, FilesThatAreNoNetworkAreErrors) {
  const std::string path = temporary("text.pt");
  std::ofstream(path) << "no network";
  for (const std::string& file : {path, temporary("missing.pt")}) {
    const auto extractor = FeatureExtractor::load(file);
    EXPECT_THAT(std::string(extractor.status().message()),
                HasSubstr("FeatureExtractor: cannot load '" + file + "': "));
  }
}

TEST(FeatureExtractorTest, WrongFeaturesAreRefused) {
  const FeatureExtractor one(
      [](const at::Tensor& images) { return images.narrow(0, 0, 1); });
  EXPECT_THAT(refusal_of([&] {
                one(at::randn({3, 2}));
              }),
              HasSubstr("expected features of 3 rows, got [1, 2]"));
  EXPECT_THAT(refusal_of([&] { one(at::Tensor()); }),
              HasSubstr("expected inputs [N, ...], got none"));
  EXPECT_THAT(refusal_of([] { FeatureExtractor(nullptr); }),
              HasSubstr("expected a network"));
  EXPECT_THAT(refusal_of([] {
                FeatureExtractor([](const at::Tensor& x) { return x; },
                                 FeatureExtractorOptions().batch_size(0));
              }),
              HasSubstr("'batch_size': expected at least 1, got 0"));
}

TEST(FeatureExtractorTest, MetricsOfImages) {
  const FeatureExtractor extractor([](const at::Tensor& images) {
    return images.mean({2, 3});
  });
  LambdaInputTransformer metric(
      FrechetInceptionDistance(),
      LambdaInputTransformerOptions("means").preds(extractor));
  FrechetInceptionDistance direct;
  for (const std::int64_t real : {0, 1}) {
    const at::Tensor images = at::randn({9, 3, 4, 4}).add(0.1 * real);
    const at::Tensor flags = at::full({9}, real, at::kLong);
    metric.update(images, flags);
    direct.update(extractor(images), flags);
  }
  EXPECT_EQ(metric.compute().value().item<double>(),
            direct.compute().item<double>());
}

}  // namespace
}  // namespace tally

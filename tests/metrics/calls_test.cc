// The ways to call, make and save metrics that LibTorch's users expect.
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/serialize.h>

#include <sstream>
#include <type_traits>

#include "tally/metrics/aggregation/mean_metric.h"
#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/fixed_precision_recall.h"
#include "tally/metrics/collection.h"
#include "tally/tests/testing/refusal.h"
#include "tally/tests/testing/sample_metrics.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::SampleMeanSquaredError;

// What has no default has to be given, and only as what it is.
static_assert(!std::is_default_constructible_v<MulticlassAccuracy>);
static_assert(!std::is_default_constructible_v<MultilabelAUROC>);
static_assert(!std::is_default_constructible_v<MulticlassFBetaScore>);
static_assert(std::is_default_constructible_v<BinaryAccuracy>);
static_assert(std::is_constructible_v<MulticlassAccuracy, int>);
static_assert(std::is_constructible_v<MulticlassAccuracy, std::size_t>);
static_assert(!std::is_constructible_v<MulticlassAccuracy, double>);
static_assert(!std::is_constructible_v<MulticlassAccuracy, bool>);
static_assert(!std::is_constructible_v<MulticlassAUROC, double>);
static_assert(std::is_constructible_v<BinaryRecallAtFixedPrecision, double>);
static_assert(
    !std::is_constructible_v<MulticlassRecallAtFixedPrecision, double>);

TEST(CallsTest, MetricsAreCalledAsModulesAre) {
  const at::Tensor preds = at::arange(4, at::kDouble);
  const at::Tensor target = at::zeros({4}, at::kDouble);
  SampleMeanSquaredError mse;
  EXPECT_EQ(mse(preds, target).item<double>(), 3.5);
  EXPECT_EQ(mse(target, target).item<double>(), 0);
  Metric& any = mse;
  EXPECT_EQ(any.compute().value().item<double>(), 1.75);
  EXPECT_EQ(any(preds, target).value().item<double>(), 3.5);
  EXPECT_EQ(any.update_count(), 3);
}

TEST(CallsTest, CollectionsAreMadeOfLists) {
  MetricCollection metrics(
      {{"mse", SampleMeanSquaredError()},
       {"other", std::make_unique<SampleMeanSquaredError>()}},
      MetricOptions().compute_with_cache(false));
  EXPECT_THAT(metrics.names(), ElementsAre("mse", "other"));
  EXPECT_FALSE(metrics.metric_options().compute_with_cache());
  const Results results =
      metrics(at::arange(4, at::kDouble), at::zeros({4}, at::kDouble));
  EXPECT_EQ(results["other"].item<double>(), 3.5);
  EXPECT_THAT(refusal_of([] {
                const MetricCollection twice({{"a", SampleMeanSquaredError()},
                                              {"a", SampleMeanSquaredError()}});
              }),
              HasSubstr("'a'"));
}

TEST(CallsTest, LibTorchSavesAndLoads) {
  MetricCollection metrics({{"mse", SampleMeanSquaredError()}});
  metrics.update(at::arange(4, at::kDouble), at::zeros({4}, at::kDouble));
  std::stringstream file;
  torch::save(metrics, file);
  MetricCollection loaded({{"mse", SampleMeanSquaredError()}});
  torch::load(loaded, file);
  EXPECT_EQ(loaded.compute().value().item<double>(), 3.5);
  EXPECT_EQ(loaded.update_count(), 1);

  // Beside a model in its archive.
  torch::serialize::OutputArchive model, part;
  part << metrics;
  model.write("metrics", part);
  std::stringstream archive;
  model.save_to(archive);
  torch::serialize::InputArchive saved, metrics_part;
  saved.load_from(archive);
  saved.read("metrics", metrics_part);
  metrics_part >> loaded;
  EXPECT_EQ(loaded.compute().value().item<double>(), 3.5);

  SampleMeanSquaredError other;
  EXPECT_THAT(refusal_of([&] { saved >> other; }),
              HasSubstr("expected the state of a metric in the archive, got "
                        "none"));
  MetricCollection mean({{"mean", MeanMetric()}});
  EXPECT_THAT(refusal_of([&] { metrics_part >> mean; }), HasSubstr("mean"));
  EXPECT_EQ(mean.update_count(), 0);
}

TEST(CallsTest, ErrorsSayWhatMayHaveBeenMeant) {
  SampleMeanSquaredError mse;
  BinaryAccuracy binary;
  MulticlassAccuracy classes(3);
  const auto error = [](Metric& metric, const at::Tensor& preds,
                        const at::Tensor& target) {
    return refusal_of([&] { metric.update(preds, target); });
  };
  const at::Tensor scores = at::zeros({4, 3});
  const at::Tensor labels = at::zeros({4}, at::kLong);
  EXPECT_THAT(error(binary, at::zeros({4, 1}), labels),
              HasSubstr("; did you mean preds.squeeze(1)?"));
  EXPECT_THAT(error(binary, at::zeros({4}), labels.narrow(0, 0, 3)),
              HasSubstr("; these are 4 rows and 3"));
  EXPECT_THAT(error(classes, scores, labels.view({4, 1})),
              HasSubstr("; did you mean target.squeeze(1)?"));
  EXPECT_THAT(error(classes, scores, at::zeros({4, 3}, at::kLong)),
              HasSubstr("; of a one-hot target target.argmax(1) are the "
                        "labels"));
  EXPECT_THAT(error(classes, labels, scores),
              HasSubstr("; are preds and target swapped?"));
  EXPECT_THAT(error(classes, scores, labels.narrow(0, 0, 3)),
              HasSubstr("; these are 4 rows and 3"));
  EXPECT_THAT(error(classes, labels, at::tensor({0.5, 1.0, 0.0, 2.0})),
              HasSubstr("; are preds and target swapped?"));
}

}  // namespace
}  // namespace tally

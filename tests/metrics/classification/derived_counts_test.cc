// Metrics of counts whose state follows from the confusion matrix beside them.

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/cohen_kappa.h"
#include "tally/metrics/classification/confusion_matrix.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/stat_scores.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/wrappers/classwise_wrapper.h"
#include "tally/metrics/wrappers/metric_tracker.h"
#include "tally/metrics/wrappers/multitask_wrapper.h"
#include "tally/testing/compare.h"
#include "tally/testing/thread_ranks.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::near;
using testkit::run_thread_ranks;
using testkit::same_bits;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kClasses = 4;

struct Options {
  std::int64_t classes = kClasses;
  std::optional<std::int64_t> ignore_index = std::nullopt;
  MetricOptions metric = {};
};

std::vector<std::pair<std::string, std::unique_ptr<Metric>>> counts_metrics(
    const Options& options) {
  const auto rates =
      MulticlassRateOptions(options.classes).ignore_index(options.ignore_index);
  const auto kappa = MulticlassCohenKappaOptions(options.classes)
                         .ignore_index(options.ignore_index)
                         .weights(KappaWeights::kQuadratic);
  std::vector<std::pair<std::string, std::unique_ptr<Metric>>> metrics;
  metrics.emplace_back(
      "accuracy", std::make_unique<MulticlassAccuracy>(rates, options.metric));
  metrics.emplace_back("f1",
                       std::make_unique<MulticlassF1Score>(
                           MulticlassRateOptions(rates).average(Average::kNone),
                           options.metric));
  metrics.emplace_back(
      "kappa", std::make_unique<MulticlassCohenKappa>(kappa, options.metric));
  metrics.emplace_back("scores",
                       std::make_unique<MulticlassStatScores>(
                           MulticlassStatScoresOptions(options.classes)
                               .ignore_index(options.ignore_index)
                               .average(Average::kNone),
                           options.metric));
  return metrics;
}

// With the matrix first, last, or (-1) without it.
MetricCollection collection(const Options& options, int matrix_at) {
  MetricCollection metrics;
  const auto add_matrix = [&] {
    metrics.add("matrix", MulticlassConfusionMatrix(
                              MulticlassConfusionMatrixOptions(options.classes)
                                  .ignore_index(options.ignore_index),
                              options.metric));
  };
  if (matrix_at == 0) add_matrix();
  for (auto& [name, metric] : counts_metrics(options)) {
    metrics.add(name, std::move(metric));
  }
  if (matrix_at > 0) add_matrix();
  return metrics;
}

at::Tensor labels(std::int64_t rows, std::int64_t classes = kClasses) {
  return at::randint(0, classes, {rows}, at::kLong);
}

// All results of `parts` are among those of `whole`, to the bit.
void expect_among(const Results& whole, const Results& parts) {
  for (const auto& [name, value] : parts) {
    EXPECT_TRUE(same_bits(whole[name], value)) << name;
  }
}

void expect_same(const Options& options, const std::vector<at::Tensor>& preds,
                 const std::vector<at::Tensor>& target) {
  for (const int matrix_at : {0, 1}) {
    MetricCollection derived = collection(options, matrix_at);
    MetricCollection alone = collection(options, -1);
    ASSERT_EQ(derived.groups().size(), 1u);
    ASSERT_EQ(alone.groups().size(), 2u);
    for (std::size_t i = 0; i < preds.size(); ++i) {
      expect_among(derived.forward(preds[i], target[i]),
                   alone.forward(preds[i], target[i]));
    }
    expect_among(derived.compute(), alone.compute());
  }
}

TEST(DerivedCountsTest, AreThoseOfMetricsAlone) {
  expect_same({}, {labels(20), labels(1), labels(300)},
              {labels(20), labels(1), labels(300)});
  expect_same({}, {}, {});
  expect_same({}, {labels(0)}, {labels(0)});
  at::Tensor scores = at::randn({60, kClasses});
  at::Tensor target = labels(60);
  expect_same({}, {scores}, {target});
  target = target.masked_fill(at::randn({60}).gt(1), -1);
  expect_same({kClasses, -1}, {scores}, {target});
  expect_same({kClasses, 2}, {scores}, {labels(60)});
  scores.select(1, 0).select(0, 7).fill_(kNaN);
  for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
    const auto metric = MetricOptions().nan_policy(policy);
    expect_same({kClasses, -1, metric}, {scores}, {target});
  }
}

// A batch is kept as pairs until these take half the memory of the matrix.
TEST(DerivedCountsTest, AreThoseOfMetricsAloneForManyClasses) {
  constexpr std::int64_t kMany = 50;
  std::vector<at::Tensor> preds, target;
  for (int i = 0; i < 12; ++i) {
    preds.push_back(labels(450, kMany));
    target.push_back(labels(450, kMany));
  }
  expect_same({kMany}, preds, target);
  at::Tensor all_nan = at::randn({3, kMany}).mul(kNaN);
  expect_same({kMany}, {all_nan}, {labels(3, kMany)});
}

// Of a matrix this large they are taken with tensor operations, as on a GPU.
TEST(DerivedCountsTest, AreThoseOfMetricsAloneForALargeMatrix) {
  constexpr std::int64_t kMany = 300;
  const at::Tensor preds = labels(kMany * kMany, kMany);
  const at::Tensor target = labels(kMany * kMany, kMany);
  expect_same({kMany}, {preds, labels(20, kMany)}, {target, labels(20, kMany)});
  for (const auto weights : {KappaWeights::kNone, KappaWeights::kLinear}) {
    MulticlassCohenKappa alone(
        MulticlassCohenKappaOptions(kMany).weights(weights));
    MetricCollection derived;
    derived.add("kappa", alone.clone());
    derived.add("matrix", MulticlassConfusionMatrix(kMany));
    const at::Tensor weight = at::randn({kMany * kMany}, at::kDouble).abs();
    alone.update(preds, target, weight);
    derived.update(preds, target, weight);
    EXPECT_TRUE(
        near(derived.compute()["kappa"], alone.compute(), {1e-12, 1e-12}));
  }
}

TEST(DerivedCountsTest, SumWeightsAsMetricsAloneDo) {
  MetricCollection derived = collection({}, 1);
  MetricCollection alone = collection({}, -1);
  for (int i = 0; i < 3; ++i) {
    const at::Tensor preds = labels(40);
    const at::Tensor target = labels(40);
    at::Tensor weight = at::randn({40}, at::kDouble).abs();
    if (i == 2) weight.reset();
    for (MetricCollection* metrics : {&derived, &alone}) {
      if (weight.defined()) {
        metrics->update(preds, target, weight);
      } else {
        metrics->update(preds, target);
      }
    }
  }
  const Results values = derived.compute();
  for (const auto& [name, value] : alone.compute()) {
    EXPECT_TRUE(near(values[name], value, {1e-12, 1e-12})) << name;
  }
}

TEST(DerivedCountsTest, ShareTheGroupOfTheMatrix) {
  MetricCollection metrics = collection({}, 1);
  metrics.add("top2",
              MulticlassAccuracy(MulticlassAccuracyOptions(kClasses).top_k(2)));
  metrics.add(
      "ignoring",
      MulticlassAccuracy(MulticlassAccuracyOptions(kClasses).ignore_index(0)));
  metrics.add(
      "samples",
      MulticlassAccuracy(MulticlassAccuracyOptions(kClasses).multidim_average(
          MultidimAverage::kSamplewise)));
  metrics.add("nan", MulticlassAccuracy(kClasses, MetricOptions().nan_policy(
                                                      NanPolicy::kIgnore)));
  metrics.add("shares",
              MulticlassConfusionMatrix(
                  MulticlassConfusionMatrixOptions(kClasses).normalize(
                      Normalize::kTrue)));
  EXPECT_THAT(metrics.groups(),
              ElementsAre(ElementsAre("accuracy", "f1", "kappa", "scores",
                                      "matrix", "shares"),
                          ElementsAre("top2"), ElementsAre("ignoring"),
                          ElementsAre("samples"), ElementsAre("nan")));
  EXPECT_EQ(MulticlassAccuracy(46340).source_key(),
            MulticlassConfusionMatrix(46340).state_key());
  EXPECT_EQ(MulticlassAccuracy(46341).source_key(), "");
  EXPECT_EQ(MulticlassConfusionMatrix(3).source_key(), "");
}

TEST(DerivedCountsTest, GoOnAlone) {
  MetricCollection metrics = collection({}, 1);
  MulticlassAccuracy alone(kClasses);
  for (int i = 0; i < 2; ++i) {
    const at::Tensor preds = labels(9);
    const at::Tensor target = labels(9);
    metrics.update(preds, target);
    alone.update(preds, target);
  }
  const auto own = metrics.extract("accuracy");
  EXPECT_EQ(own->update_count(), 2);
  EXPECT_TRUE(same_bits(own->state(), alone.state()));
  const at::Tensor preds = labels(9);
  own->update(preds, preds);
  alone.update(preds, preds);
  EXPECT_TRUE(same_bits(own->compute_results().value(), alone.compute()));
}

TEST(DerivedCountsTest, AreCopiedMergedSavedAndReset) {
  MetricCollection a = collection({}, 1);
  MetricCollection b = collection({}, 1);
  MetricCollection both = collection({}, -1);
  const at::Tensor preds[] = {labels(9), labels(7)};
  const at::Tensor target[] = {labels(9), labels(7)};
  a.update(preds[0], target[0]);
  b.update(preds[1], target[1]);
  for (int i : {0, 1}) both.update(preds[i], target[i]);
  MetricCollection merged = a.clone();
  merged.merge_state(b);
  expect_among(merged.compute(), both.compute());
  MetricCollection loaded = collection({}, 1);
  ASSERT_TRUE(loaded.deserialize(merged.serialize()).ok());
  expect_among(loaded.compute(), both.compute());
  expect_among(loaded.sync_async().wait(), both.compute());
  loaded.reset();
  loaded.update(preds[0], target[0]);
  EXPECT_TRUE(same_bits(loaded.compute(), a.compute()));
}

TEST(DerivedCountsTest, SyncAsOne) {
  const at::Tensor preds = labels(24);
  const at::Tensor target = labels(24);
  MetricCollection all = collection({}, -1);
  all.update(preds, target);
  const Results expected = all.compute();
  run_thread_ranks(3, [&](const auto& communicator) {
    const int rank = communicator->rank();
    MetricCollection metrics = collection({}, 1);
    metrics.update(preds.narrow(0, rank * 8, 8), target.narrow(0, rank * 8, 8));
    expect_among(metrics.compute(), expected);
    expect_among(metrics.sync_async().wait(), expected);
    metrics.sync();
    EXPECT_EQ(metrics.update_count(), 3);
    expect_among(metrics.compute(), expected);
    metrics.unsync();
  });
}

TEST(DerivedCountsTest, WorkInWrappersOfCollections) {
  const at::Tensor preds = labels(24);
  const at::Tensor target = labels(24);
  MetricCollection alone = collection({}, -1);
  alone.update(preds, target);
  const Results expected = alone.compute();

  MultitaskWrapper tasks;
  tasks.add("a", collection({}, 1));
  tasks.update({{"a", preds}}, {{"a", target}});
  const Results of_task = tasks.compute();
  EXPECT_TRUE(same_bits(of_task["a.accuracy"], expected["accuracy"]));

  MetricCollection classwise = collection({}, 1);
  classwise.add(
      "classes",
      ClasswiseWrapper(MulticlassAccuracy(
          MulticlassAccuracyOptions(kClasses).average(Average::kNone))));
  EXPECT_EQ(classwise.groups().size(), 1u);
  classwise.update(preds, target);
  EXPECT_TRUE(same_bits(classwise.compute()["accuracy"], expected["accuracy"]));
  EXPECT_EQ(classwise.compute().size(), 5 + kClasses);

  MetricTracker tracker(collection({}, 1));
  tracker.increment();
  tracker.update(preds, target);
  const Results steps = tracker.compute_all();
  EXPECT_TRUE(same_bits(steps["accuracy"][0], expected["accuracy"]));
}

// Counts how often it is derived.
struct Plain {
  static constexpr const char* kName = "Plain";
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  State observe(const at::Tensor& values) const {
    return {Number(values.sum())};
  }
};
struct Twice {
  static constexpr const char* kName = "Twice";
  static inline std::atomic<int> observed{0};
  static inline std::atomic<int> derived{0};
  using Source = Plain;
  struct State {
    Number sum;
    void fields(Fields& f) { f("sum", sum); }
  };
  static std::optional<NoOptions> source_options(const NoOptions&) {
    return NoOptions();
  }
  State derive(const Plain::State& plain) const {
    ++derived;
    return {plain.sum + plain.sum};
  }
  State observe(const at::Tensor& values) const {
    ++observed;
    return {Number(values.sum().mul(2))};
  }
};
struct PlainMetric final : MetricOf<PlainMetric, Plain, at::Tensor> {
  static constexpr const char* kName = "PlainMetric";
  at::Tensor evaluate(const State& state) const { return state.sum; }
};
struct TwiceMetric final : MetricOf<TwiceMetric, Twice, at::Tensor> {
  static constexpr const char* kName = "TwiceMetric";
  at::Tensor evaluate(const State& state) const { return state.sum; }
};

TEST(DerivedStatesTest, AreDerivedOnceForAllMembersAndNeverObserved) {
  MetricCollection metrics;
  metrics.add("a", TwiceMetric());
  metrics.add("b", TwiceMetric());
  metrics.add("plain", PlainMetric());
  metrics.add("c", TwiceMetric());
  Twice::observed = Twice::derived = 0;
  const at::Tensor values = at::randn({5});
  metrics.update(values);
  EXPECT_EQ(Twice::derived, 0);
  metrics.forward(values);
  EXPECT_EQ(Twice::derived, 1);
  const Results results = metrics.compute();
  EXPECT_EQ(Twice::derived, 2);
  EXPECT_EQ(Twice::observed, 0);
  EXPECT_TRUE(same_bits(results["c"], results["plain"].mul(2)));
}

TEST(DerivedStatesTest, AreForMetricsWithASource) {
  const PlainMetric plain;
  try {
    plain.derive(plain.make_state());
    ADD_FAILURE() << "no error";
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                HasSubstr("PlainMetric: expected a metric with a source_key"));
  }
}

template <class Tensors>
void expect_refused(const Tensors& set, const std::string& message) {
  MulticlassConfusion::State state;
  set(state);
  try {
    MulticlassAccuracy(kClasses).derive(AnyState::of(state));
    ADD_FAILURE() << "no error";
  } catch (const c10::ValueError& error) {
    EXPECT_THAT(error.what_without_backtrace(), HasSubstr(message));
  }
}

TEST(DerivedCountsTest, RefuseStatesOfOtherClasses) {
  expect_refused(
      [](auto& state) {
        state.counts = at::ones({3, 3}, at::kLong);
      },
      "expected 16 counts in the state, got 9");
  expect_refused(
      [](auto& state) {
        state.sums = at::ones({5, 5}, at::kDouble);
      },
      "expected 16 counts in the state, got 25");
  for (const std::int64_t pair : {-1, 16}) {
    expect_refused(
        [&](auto& state) { state.pairs = Rows(at::full({1}, pair, at::kInt)); },
        "expected pairs of 4 classes in the state, got others");
  }
}

}  // namespace
}  // namespace tally

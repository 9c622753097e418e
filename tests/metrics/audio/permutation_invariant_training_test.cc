#include "tally/metrics/audio/permutation_invariant_training.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "tally/metrics/audio/scale_invariant_signal_noise_ratio.h"
#include "tally/metrics/collection.h"
#include "tally/metrics/common/best_permutation.h"
#include "tally/tests/metrics/audio/signals.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using internal::best_permutation;
using ::tally::testkit::refusal_of;
using ::tally::testkit::value_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Options = PermutationInvariantTrainingOptions;
using Pit = PermutationInvariantTraining;
using Places = std::vector<std::int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor negative_error(const at::Tensor& preds, const at::Tensor& target) {
  return preds.sub(target).abs().mean({1}).neg();
}

// Also: the mean has the same bits for any split.
TEST(PermutationInvariantTrainingTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.differentiable_inputs = {0, 1};
  options.split_rtol = 0;
  testkit::check_metric<Pit>("audio/PermutationInvariantTraining", options);
}

TEST(PermutationInvariantTrainingTest, FindsTheOrder) {
  const at::Tensor target = at::randn({2, 3, 40});
  const at::Tensor orders =
      at::tensor({2, 0, 1, 0, 2, 1}, at::kLong).reshape({2, 3});
  // Speaker orders[n][c] of preds is speaker c of target.
  at::Tensor preds = at::randn({2, 3, 40}).mul(0.1);
  for (std::int64_t n = 0; n < 2; ++n) {
    for (std::int64_t c = 0; c < 3; ++c) {
      preds[n][orders[n][c].item<std::int64_t>()].add_(target[n][c]);
    }
  }
  const Options options("ScaleInvariantSignalNoiseRatio");
  const at::Tensor found = best_permutations(preds, target, options);
  EXPECT_TRUE(found.equal(orders));
  EXPECT_NEAR(value_of<Pit>(preds, target, options),
              value_of<ScaleInvariantSignalNoiseRatio>(
                  pit_permutate(preds, found), target),
              1e-12);
}

// "Choose lexicographically first": SciPy takes 2 1 0 here.
TEST(BestPermutationTest, OfEqualSumsTheLexicographicallyFirst) {
  const std::vector<double> ties = {1, 2, 3, 2, 3, 4, 3, 4, 5};
  EXPECT_THAT(best_permutation(ties, 3, true), ElementsAre(0, 1, 2));
  EXPECT_THAT(best_permutation(ties, 3, false), ElementsAre(0, 1, 2));
  EXPECT_THAT(best_permutation({1, 1, 1, 1}, 2, true), ElementsAre(0, 1));
}

TEST(BestPermutationTest, RoundingDecidesNothing) {
  // 0.1 + 0.2 is more than 0.3.
  EXPECT_THAT(best_permutation({0.3, 0.1, 0.2, 0}, 2, true), ElementsAre(0, 1));
  EXPECT_THAT(best_permutation({0.1, 0.3, 0, 0.2}, 2, true), ElementsAre(0, 1));
  EXPECT_THAT(best_permutation({30, 10 * (1 + 1e-13), 20, 0}, 2, true),
              ElementsAre(0, 1));
  EXPECT_THAT(best_permutation({30, 10 * (1 + 1e-6), 20, 0}, 2, true),
              ElementsAre(1, 0));
}

TEST(BestPermutationTest, OfInfinitiesTheFewestWrongOnes) {
  EXPECT_THAT(best_permutation({-kInfinity, 0, 5, 100}, 2, true),
              ElementsAre(1, 0));
  EXPECT_THAT(best_permutation({0, kInfinity, -100, 5}, 2, true),
              ElementsAre(1, 0));
  EXPECT_THAT(best_permutation({kInfinity, 0, 0, -kInfinity}, 2, true),
              ElementsAre(1, 0));
  EXPECT_THAT(best_permutation({kInfinity, 0, 5, 0}, 2, false),
              ElementsAre(1, 0));
  EXPECT_THAT(best_permutation({0, 9, 9, kNaN}, 2, true), ElementsAre(0, 1));
}

TEST(BestPermutationTest, IsTheBestOfAll) {
  const std::vector<double> numbers = testkit::noise(40000, 9);
  std::size_t next = 0;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 6}) {
    for (int trial = 0; trial < 40; ++trial) {
      // Few different scores: there are ties.
      std::vector<double> scores;
      for (std::int64_t i = 0; i < size * size; ++i) {
        scores.push_back(std::floor(4 * numbers[next++]));
      }
      Places order(static_cast<std::size_t>(size));
      std::iota(order.begin(), order.end(), 0);
      Places best;
      double highest = -kInfinity;
      do {
        double sum = 0;
        for (std::int64_t i = 0; i < size; ++i)
          sum += scores[i * size + order[i]];
        if (sum > highest) {
          highest = sum;
          best = order;
        }
      } while (std::next_permutation(order.begin(), order.end()));
      EXPECT_EQ(best_permutation(scores, size, true), best);
      for (double& score : scores) score = -score;
      EXPECT_EQ(best_permutation(scores, size, false), best);
    }
  }
}

TEST(BestPermutationTest, OfManySpeakers) {
  constexpr std::int64_t kSize = 60;
  std::vector<double> scores(kSize * kSize, 0.5);
  for (std::int64_t i = 0; i < kSize; ++i) {
    scores[i * kSize + (i * 7 + 3) % kSize] = 1;
  }
  const Places best = best_permutation(scores, kSize, true);
  for (std::int64_t i = 0; i < kSize; ++i) {
    EXPECT_EQ(best[i], (i * 7 + 3) % kSize);
  }
}

TEST(PermutationInvariantTrainingTest, SilentEstimatesTie) {
  const at::Tensor target = at::randn({1, 3, 30});
  const auto options =
      Options("ScaleInvariantSignalNoiseRatio").count_silent(true);
  EXPECT_TRUE(best_permutations(at::zeros({1, 3, 30}), target, options)
                  .equal(at::tensor({0, 1, 2}, at::kLong).unsqueeze(0)));
  Pit pit(options);
  pit.update(target,
             at::cat({target.narrow(1, 0, 1), at::zeros({1, 2, 30})}, 1));
  EXPECT_EQ(pit.compute().silent.item<std::int64_t>(), 2);
}

// Two silent estimates: SignalDistortionRatio has -inf for every pair of them.
TEST(PermutationInvariantTrainingTest, InfiniteScoresAreDefined) {
  at::Tensor preds = at::randn({1, 3, 200});
  const at::Tensor target = preds.flip(1).add(at::randn({1, 3, 200}));
  preds[0][1].zero_();
  const Options options("SignalDistortionRatio(filter_length=8)");
  EXPECT_TRUE(best_permutations(preds, target, options)
                  .equal(at::tensor({2, 1, 0}, at::kLong).unsqueeze(0)));
  EXPECT_EQ(value_of<Pit>(preds, target, options), -kInfinity);
}

TEST(PermutationInvariantTrainingTest, TakesAFunction) {
  const at::Tensor preds = at::randn({4, 3, 20});
  const at::Tensor target = preds.flip(1).add(at::randn({4, 3, 20}).mul(0.1));
  const auto options = Options("negative_error").function(negative_error);
  EXPECT_NEAR(value_of<Pit>(preds, target, options),
              negative_error(preds.flip(1).flatten(0, 1), target.flatten(0, 1))
                  .mean()
                  .item<double>(),
              1e-7);
  const auto lowest =
      Options("error")
          .eval_func(EvalFunc::kMin)
          .function([](const at::Tensor& p, const at::Tensor& t) {
            return negative_error(p, t).neg();
          });
  EXPECT_NEAR(value_of<Pit>(preds, target, lowest),
              -value_of<Pit>(preds, target, options), 1e-12);
  // All speakers together, by sample or by speaker.
  const auto joint = Options("joint").mode(PermutationMode::kPermutationWise);
  for (const bool by_speaker : {false, true}) {
    const auto of_all =
        Options(joint).function([=](const at::Tensor& p, const at::Tensor& t) {
          const at::Tensor errors = p.sub(t).abs().mean({2}).neg();
          return by_speaker ? errors : errors.mean({1});
        });
    EXPECT_NEAR(value_of<Pit>(preds, target, of_all),
                value_of<Pit>(preds, target, options), 1e-7);
  }
}

TEST(PermutationInvariantTrainingTest, AFunctionHasAGradient) {
  const at::Tensor preds = at::randn({2, 2, 10}).set_requires_grad(true);
  const at::Tensor target = at::randn({2, 2, 10});
  Pit pit(Options("negative_error").function(negative_error));
  pit.forward(preds, target).value.backward();
  EXPECT_NEAR(preds.grad().abs().sum().item<double>(), 1, 1e-6);
}

TEST(PermutationInvariantTrainingTest, BadFunctionsAreRefused) {
  const at::Tensor signals = at::randn({4, 2, 20});
  const auto of = [&](const at::Tensor& result) {
    Pit pit(Options("bad").function(
        [=](const at::Tensor&, const at::Tensor&) { return result; }));
    const std::string why = refusal_of([&] { pit.update(signals, signals); });
    EXPECT_EQ(pit.update_count(), 0);
    return why;
  };
  EXPECT_THAT(of(at::Tensor()),
              HasSubstr("expected the function to return a floating-point "
                        "score of each of 4 samples, got an undefined tensor"));
  EXPECT_THAT(of(at::ones({3})), HasSubstr("got Float [3]"));
  EXPECT_THAT(of(at::ones({4}, at::kLong)), HasSubstr("got Long [4]"));
  EXPECT_THAT(of(at::full({4}, 1e12)),
              HasSubstr("expected scores of less than 2^31, got 1e+12"));
}

TEST(PermutationInvariantTrainingTest, SpectrogramsOfSpeakers) {
  const at::Tensor preds = at::randn({2, 2, 3, 4, 2});
  const at::Tensor target = preds.flip(1).add(at::randn({2, 2, 3, 4, 2}));
  const Options options("ComplexScaleInvariantSignalNoiseRatio");
  EXPECT_EQ(value_of<Pit>(at::view_as_complex(preds),
                          at::view_as_complex(target), options),
            value_of<Pit>(preds, target, options));
  EXPECT_THAT(refusal_of([&] {
                value_of<Pit>(preds, target, Options("SignalNoiseRatio"));
              }),
              HasSubstr("expected signals of shape [T] of each speaker, got "
                        "[3, 4, 2]"));
}

TEST(PermutationInvariantTrainingTest, BadOptionsAreRefused) {
  EXPECT_THAT(refusal_of([] { Pit pit(Options("")); }),
              HasSubstr("PermutationInvariantTraining: expected a metric"));
  EXPECT_THAT(refusal_of([] { Pit pit(Options("SignalNoiseRatios")); }),
              HasSubstr("got SignalNoiseRatios; did you mean "
                        "'SignalNoiseRatio'?"));
  EXPECT_THAT(refusal_of([] { Pit pit(Options("SignalNoiseRatio(a=1)")); }),
              HasSubstr("PermutationInvariantTraining: SignalNoiseRatio"));
  EXPECT_THAT(refusal_of([] {
                Pit pit(Options("SourceAggregatedSignalDistortionRatio"));
              }),
              HasSubstr("expected mode=permutation-wise"));
  EXPECT_THAT(refusal_of([] {
                Pit pit(Options("SignalNoiseRatio").function(negative_error));
              }),
              HasSubstr("expected a distinct name for the function"));
}

TEST(PermutationInvariantTrainingTest, BadInputsAreRefused) {
  Pit pit(Options("SignalNoiseRatio"));
  const at::Tensor signals = at::randn({2, 2, 20});
  EXPECT_THAT(refusal_of([&] { pit.update(signals, signals.narrow(1, 0, 1)); }),
              HasSubstr("of the same shape, got [2, 2, 20] and [2, 1, 20]"));
  EXPECT_THAT(refusal_of([&] { pit.update(signals[0], signals[0]); }),
              HasSubstr("of shape [N, C, ...], all but N at least 1, got [2, "
                        "20]"));
  EXPECT_THAT(refusal_of([&] { pit.update(signals[0][0], signals[0][0]); }),
              HasSubstr("expected preds and target of shape [N, C, ...]"));
  EXPECT_THAT(refusal_of([&] {
                pit.update(signals.narrow(1, 0, 0), signals.narrow(1, 0, 0));
              }),
              HasSubstr("all but N at least 1"));
  const at::Tensor many = at::zeros({1, 9, 2});
  Pit joint(Options("SourceAggregatedSignalDistortionRatio")
                .mode(PermutationMode::kPermutationWise));
  EXPECT_THAT(
      refusal_of([&] { joint.update(many, many); }),
      HasSubstr("expected at most 8 speakers for a joint score, got 9"));
  const at::Tensor orders = at::zeros({2, 2}, at::kLong);
  EXPECT_THAT(refusal_of([&] { pit_permutate(signals, orders[0]); }),
              HasSubstr("expected permutations [N, C]"));
  EXPECT_THAT(refusal_of<c10::IndexError>(
                  [&] { pit_permutate(signals, orders.add(2)); }),
              HasSubstr("expected permutations of 0 to 1, got 2"));
}

TEST(PermutationInvariantTrainingTest, FunctionsOfOneNameShareAState) {
  const auto options = Options("negative_error").function(negative_error);
  MetricCollection metrics;
  metrics.add("a", Pit(options));
  metrics.add("b", Pit(options));
  metrics.add("c", Pit(Options("another").function(negative_error)));
  metrics.update(at::randn({2, 2, 10}), at::randn({2, 2, 10}));
  EXPECT_EQ(metrics.compute()["a"].item<double>(),
            metrics.compute()["c"].item<double>());
}

}  // namespace
}  // namespace tally

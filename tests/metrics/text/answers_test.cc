#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tally/metrics/text/perplexity.h"
#include "tally/metrics/text/squad.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(SQuADTest, PassesTheHarness) {
  testkit::check_metric<SQuAD>("text/SQuAD");
}
TEST(PerplexityTest, PassesTheHarness) {
  testkit::HarnessOptions options;
  options.skip_gradients = {"far"};  // up to 1e195
  testkit::check_metric<Perplexity>("text/Perplexity", options);
}

double f1_of(const char* pred, const char* target, SQuADOptions options = {}) {
  SQuAD squad(options);
  squad.update(pred, Texts{target});
  return squad.compute().f1.item<double>();
}

TEST(SQuADTest, TwoEmptyAnswersMatchOrNot) {
  const auto version_1 = SQuADOptions().empty_answers_match(false);
  EXPECT_EQ(f1_of("The", ""), 100);
  EXPECT_EQ(f1_of("The", "", version_1), 0);
  SQuAD squad(version_1);
  squad.update("the", std::vector<Texts>{{}});
  EXPECT_EQ(squad.compute().exact_match.item<double>(), 100);
}

TEST(SQuADTest, PunctuationJoinsAndMarksEndArticles) {
  EXPECT_EQ(f1_of("U.S. a", "us"), 100);
  EXPECT_EQ(f1_of("the-cat", "thecat"), 100);
  EXPECT_EQ(f1_of("the_a", "thea"), 100);
  EXPECT_EQ(f1_of("(A)n", ""), 100);
  EXPECT_EQ(f1_of("a\u0301", "\u0301"), 100);
  EXPECT_EQ(f1_of("a\u00BD", "\u00BD"), 0);
}

TEST(SQuADTest, WithoutUpdates) {
  const SQuADScores scores = SQuAD().compute();
  EXPECT_TRUE(scores.f1.isnan().item<bool>());
  EXPECT_TRUE(scores.exact_match.isnan().item<bool>());
  SQuAD squad;
  EXPECT_THAT(refusal_of([&] { squad.update(Texts{}, Texts{"a"}); }),
              HasSubstr("expected as many preds as target, got 0 and 1"));
}

TEST(PerplexityTest, LogarithmsDoNotUnderflow) {
  at::Tensor logits = at::zeros({1, 1, 2}, at::kFloat);
  logits[0][0][1] = 200;
  const at::Tensor target = at::zeros({1, 1}, at::kLong);
  EXPECT_NEAR(
      Perplexity().forward(logits, target).item<double>() / std::exp(200.0), 1,
      1e-12);
  EXPECT_NEAR(Perplexity()
                      .forward(logits.set_requires_grad(true), target)
                      .item<double>() /
                  std::exp(200.0),
              1, 1e-6);
}

TEST(PerplexityTest, SameWithAndWithoutAGraph) {
  const at::Tensor logits = at::randn({3, 5, 7}, at::kDouble);
  at::Tensor target = at::randint(7, {3, 5}, at::kLong);
  target[1][2] = -1;
  Perplexity metric(PerplexityOptions().ignore_index(-1));
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const at::Tensor own = logits.to(type);
    const double plain = metric.forward(own, target).item<double>();
    const at::Tensor graph =
        metric.forward(own.clone().set_requires_grad(true), target);
    EXPECT_TRUE(graph.requires_grad());
    EXPECT_NEAR(graph.item<double>(), plain,
                plain * (type == at::kDouble ? 1e-13 : 1e-6));
  }
}

TEST(PerplexityTest, IgnoredTokensHaveNoGradient) {
  at::Tensor logits = at::randn({1, 2, 3}, at::kDouble);
  logits[0][0] = kNaN;
  logits.set_requires_grad(true);
  const at::Tensor target = at::tensor({-100, 2}).reshape({1, 2});
  Perplexity metric(PerplexityOptions().ignore_index(-100));
  metric.forward(logits, target).backward();
  EXPECT_TRUE(logits.grad()[0][0].eq(0).all().item<bool>());
  EXPECT_TRUE(logits.grad()[0][1].abs().gt(0).all().item<bool>());
}

TEST(PerplexityTest, NaNFollowsThePolicy) {
  const at::Tensor target = at::ones({2, 2}, at::kLong);
  at::Tensor logits = at::randn({2, 2, 3});
  const auto with = [](NanPolicy policy) {
    return Perplexity({}, MetricOptions().nan_policy(policy));
  };
  const double expected =
      Perplexity()
          .forward(logits.narrow(0, 0, 1), target.narrow(0, 0, 1))
          .item<double>();
  logits[1] = kNaN;
  for (const bool has_graph : {false, true}) {
    const at::Tensor own = logits.clone().set_requires_grad(has_graph);
    EXPECT_TRUE(std::isnan(Perplexity().forward(own, target).item<double>()));
    Perplexity ignores = with(NanPolicy::kIgnore);
    EXPECT_NEAR(ignores.forward(own, target).item<double>(), expected,
                1e-6 * expected);
    Perplexity refuses = with(NanPolicy::kError);
    EXPECT_THAT(refusal_of([&] { refuses.update(own, target); }),
                HasSubstr("expected preds without NaN, got some for token 2 "
                          "(Perplexity)"));
    EXPECT_EQ(refuses.update_count(), 0);
  }
}

TEST(PerplexityTest, InfiniteLogits) {
  const at::Tensor target = at::ones({1, 1}, at::kLong);
  at::Tensor logits = at::zeros({1, 1, 3});
  logits[0][0][1] = -kInfinity;
  EXPECT_EQ(Perplexity().forward(logits, target).item<double>(), kInfinity);
  logits[0][0] = -kInfinity;
  EXPECT_TRUE(std::isnan(Perplexity().forward(logits, target).item<double>()));
}

TEST(PerplexityTest, BadInputsAreRefused) {
  Perplexity metric;
  const at::Tensor logits = at::randn({2, 3, 4});
  const at::Tensor target = at::ones({2, 3}, at::kLong);
  EXPECT_THAT(
      refusal_of([&] { metric.update(logits[0], target); }),
      HasSubstr("expected preds [N, L, V] and target [N, L], V at least "
                "1, got [3, 4] and [2, 3] (Perplexity)"));
  EXPECT_THAT(
      refusal_of([&] { metric.update(logits, target.narrow(1, 0, 2)); }),
      HasSubstr("got [2, 3, 4] and [2, 2]"));
  EXPECT_THAT(refusal_of<c10::IndexError>(
                  [&] { metric.update(logits, target.mul(4)); }),
              HasSubstr("4"));
  EXPECT_THAT(
      refusal_of<c10::TypeError>([&] { metric.update(target, target); }),
      HasSubstr("preds"));
  EXPECT_THAT(refusal_of<c10::TypeError>(
                  [&] { metric.update(logits, target.to(at::kFloat)); }),
              HasSubstr("target"));
  EXPECT_EQ(metric.update_count(), 0);
  EXPECT_TRUE(metric.compute().isnan().item<bool>());
  metric.update(at::zeros({0, 3, 4}), at::zeros({0, 3}, at::kLong));
  EXPECT_TRUE(metric.compute().isnan().item<bool>());
}

}  // namespace
}  // namespace tally

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/regression/continuous_ranked_probability_score.h"
#include "tally/metrics/regression/cosine_similarity.h"
#include "tally/metrics/regression/critical_success_index.h"
#include "tally/metrics/regression/divergences.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class M>
double value_of(M& metric) {
  return metric.compute().template item<double>();
}

template <class M>
void check(testkit::HarnessOptions options = {}) {
  options.differentiable_inputs = {0, 1};
  // Rows in the order of ranks, with reduction none.
  options.order_matters = true;
  testkit::check_metric<M>(M::kName, options);
}

TEST(RowsTest, CosinePassesTheHarness) {
  testkit::HarnessOptions options;
  options.skip_gradients = {"zeros", "one_column"};  // jumps
  check<CosineSimilarity>(options);
}
TEST(RowsTest, KLPassesTheHarness) {
  testkit::HarnessOptions options;
  options.skip_gradients = {"equal", "zeros_in_p", "zeros_in_q"};  // edges
  check<KLDivergence>(options);
}
TEST(RowsTest, JensenShannonPassesTheHarness) {
  testkit::HarnessOptions options;
  options.skip_gradients = {"equal", "zeros_in_p", "disjoint"};  // edges
  check<JensenShannonDivergence>(options);
}
TEST(RowsTest, EnsemblesPassTheHarness) {
  testkit::HarnessOptions options;
  options.skip_gradients = {"int64"};  // kinks
  check<ContinuousRankedProbabilityScore>(options);
}
TEST(RowsTest, EventsPassTheHarness) {
  testkit::HarnessOptions options;
  options.order_matters = true;
  testkit::check_metric<CriticalSuccessIndex>("CriticalSuccessIndex", options);
}

template <class M>
void expect_same_with_a_graph(const at::Tensor& a, const at::Tensor& b,
                              typename M::Options options = {}) {
  M metric(options);
  const at::Tensor plain = metric.forward(a, b);
  const at::Tensor recorded =
      metric.forward(a.clone().set_requires_grad(true), b);
  EXPECT_TRUE(recorded.requires_grad());
  EXPECT_TRUE(plain.allclose(recorded, 1e-12, 0)) << metric.repr();
}

TEST(RowsTest, SameWithAndWithoutAGraph) {
  const at::Tensor a = at::rand({50, 6});
  const at::Tensor b = at::rand({50, 6});
  for (const auto reduction :
       {RowReduction::kMean, RowReduction::kSum, RowReduction::kNone}) {
    expect_same_with_a_graph<CosineSimilarity>(a, b, reduction);
    for (const bool log_prob : {false, true}) {
      const auto options =
          KLDivergenceOptions().log_prob(log_prob).reduction(reduction);
      expect_same_with_a_graph<KLDivergence>(a, b, options);
      expect_same_with_a_graph<JensenShannonDivergence>(a, b, options);
    }
  }
  expect_same_with_a_graph<ContinuousRankedProbabilityScore>(a, b.select(1, 0));
}

TEST(RowsTest, SumsAndMeansShareAState) {
  const auto key = [](RowReduction reduction) {
    return CosineSimilarity(reduction).state_key();
  };
  EXPECT_EQ(key(RowReduction::kSum), key(RowReduction::kMean));
  EXPECT_NE(key(RowReduction::kSum), key(RowReduction::kNone));
  EXPECT_NE(KLDivergence().state_key(), JensenShannonDivergence().state_key());
}

TEST(RowsTest, WithoutUpdates) {
  CosineSimilarity sum;
  EXPECT_EQ(value_of(sum), 0);
  CosineSimilarity mean(RowReduction::kMean);
  EXPECT_TRUE(std::isnan(value_of(mean)));
  CosineSimilarity none(RowReduction::kNone);
  EXPECT_EQ(none.compute().sizes(), at::IntArrayRef{0});
  ContinuousRankedProbabilityScore crps;
  EXPECT_TRUE(std::isnan(value_of(crps)));
  crps.update(at::ones({0, 3}), at::ones({0}));
  EXPECT_TRUE(std::isnan(value_of(crps)));
  CriticalSuccessIndex csi(0.5);
  EXPECT_TRUE(std::isnan(value_of(csi)));
  csi.update(at::ones({0}), at::ones({0}));
  EXPECT_TRUE(std::isnan(value_of(csi)));
  CriticalSuccessIndex sequence(
      CriticalSuccessIndexOptions(0.5).keep_sequence_dim(0));
  EXPECT_EQ(sequence.compute().sizes(), at::IntArrayRef{0});
}

TEST(RowsTest, ZerosAreSimilarToNothing) {
  const at::Tensor zeros = at::zeros({1, 3}).set_requires_grad(true);
  CosineSimilarity cosine;
  const at::Tensor value = cosine.forward(zeros, at::ones({1, 3}));
  EXPECT_EQ(value.item<double>(), 0);
  value.backward();
  EXPECT_TRUE(zeros.grad().equal(at::zeros({1, 3}))) << zeros.grad();
}

TEST(RowsTest, ZerosInDistributions) {
  const at::Tensor half = at::tensor({0.5, 0.5}).reshape({1, 2});
  const at::Tensor sure = at::tensor({1.0, 0.0}).reshape({1, 2});
  for (const bool log_prob : {false, true}) {
    const at::Tensor a = log_prob ? half.log() : half;
    const at::Tensor b = log_prob ? sure.log() : sure;
    for (const bool graph : {false, true}) {
      const auto input = [graph](const at::Tensor& x) {
        return x.clone().set_requires_grad(graph);
      };
      KLDivergence kl(KLDivergenceOptions().log_prob(log_prob));
      EXPECT_EQ(kl.forward(input(a), b).item<double>(), kInfinity);
      EXPECT_NEAR(kl.forward(input(b), a).item<double>(), std::log(2), 1e-15);
      EXPECT_EQ(kl.forward(input(b), b).item<double>(), 0);
      JensenShannonDivergence js(KLDivergenceOptions().log_prob(log_prob));
      const double expected = 0.75 * std::log(4.0 / 3);
      EXPECT_NEAR(js.forward(input(a), b).item<double>(), expected, 1e-15);
      EXPECT_EQ(js.forward(input(b), b).item<double>(), 0);
    }
  }
  KLDivergence kl;
  kl.update(at::zeros({1, 2}), half);
  EXPECT_TRUE(std::isnan(value_of(kl)));
}

TEST(RowsTest, RefusesWhatIsNoDistribution) {
  KLDivergence kl;
  const at::Tensor p = at::tensor({0.5, -0.5}).reshape({1, 2});
  const at::Tensor q = at::tensor({0.5, 0.5}).reshape({1, 2});
  const std::string expected = "expected p and q of at least 0, got -0.5 as ";
  EXPECT_THAT(refusal_of<c10::Error>([&] { kl.update(p, q); }),
              HasSubstr(expected + "p"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { kl.update(q, p); }),
              HasSubstr(expected + "q"));
  EXPECT_THAT(refusal_of<c10::Error>([&] { kl.update(q, q.reshape(-1)); }),
              HasSubstr("expected p and q of the same shape, got [1, 2] and "
                        "[2]"));
  EXPECT_THAT(
      refusal_of<c10::Error>([&] { kl.update(q.reshape(-1), q.reshape(-1)); }),
      HasSubstr("expected p and q of shape [N, D], D at least 1, got "
                "[2]"));
  EXPECT_EQ(kl.update_count(), 0);
  KLDivergence logs(KLDivergenceOptions().log_prob(true));
  logs.update(p, q);
  KLDivergence trusting({}, MetricOptions().validate_args(false));
  trusting.update(p, q);
  CosineSimilarity cosine;
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                cosine.update(at::ones({2, 0}), at::ones({2, 0}));
              }),
              HasSubstr("expected preds and target of shape [N, D]"));
}

TEST(RowsTest, RefusesEnsemblesThatDoNotFit) {
  ContinuousRankedProbabilityScore crps;
  const char* const expected =
      "expected preds of shape [N, M], M at least 1, and target of shape [N], "
      "got ";
  EXPECT_THAT(refusal_of<c10::Error>(
                  [&] { crps.update(at::ones({2}), at::ones({2})); }),
              HasSubstr(std::string(expected) + "[2] and [2]"));
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                crps.update(at::ones({2, 3}), at::ones({3}));
              }),
              HasSubstr(expected));
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                crps.update(at::ones({2, 0}), at::ones({2}));
              }),
              HasSubstr(expected));
  EXPECT_THROW(crps.update(at::ones({2, 3}), at::ones({2}, at::kComplexFloat)),
               c10::TypeError);
  EXPECT_EQ(crps.update_count(), 0);
}

TEST(RowsTest, RefusesThresholdsAndDimensionsThatDoNotFit) {
  EXPECT_THAT(refusal_of<c10::Error>([] { CriticalSuccessIndex csi; }),
              HasSubstr("CriticalSuccessIndex: expected a threshold, got NaN"));
  EXPECT_THAT(refusal_of<c10::Error>([] {
                CriticalSuccessIndex csi(
                    CriticalSuccessIndexOptions(1).keep_sequence_dim(-1));
              }),
              HasSubstr("expected keep_sequence_dim of at least 0, got -1"));
  CriticalSuccessIndex csi(CriticalSuccessIndexOptions(1).keep_sequence_dim(2));
  EXPECT_THAT(refusal_of<c10::Error>([&] {
                csi.update(at::ones({2, 3}), at::ones({2, 3}));
              }),
              HasSubstr("expected preds and target with a dimension 2, got "
                        "[2, 3]"));
}

TEST(RowsTest, EventsOfAnyDtypeAndLayout) {
  const at::Tensor preds = at::tensor({0.7f, 0.1f, 0.9f, 0.8f, 0.2f, 0.7f});
  const at::Tensor target = at::tensor({0.7f, 0.9f, 0.1f, 0.9f, 0.1f, 0.2f});
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf}) {
    CriticalSuccessIndex csi(dtype == at::kFloat ? 0.7 : 0.6);
    csi.update(preds.to(dtype), target.to(dtype));
    EXPECT_EQ(value_of(csi), 0.4) << dtype;
    const at::Tensor gaps =
        preds.to(dtype).repeat_interleave(2).slice(0, 0, 12, 2);
    csi.update(gaps, target);
    EXPECT_EQ(csi.state()["counts"].sum().item<std::int64_t>(), 10) << dtype;
  }
}

TEST(RowsTest, NanGoesByThePolicy) {
  const auto ignore = MetricOptions().nan_policy(NanPolicy::kIgnore);
  const auto error = MetricOptions().nan_policy(NanPolicy::kError);
  const at::Tensor a = at::tensor({1.0, 2.0, kNaN, 1.0}).reshape({2, 2});
  const at::Tensor b = at::tensor({2.0, 1.0, 1.0, 1.0}).reshape({2, 2});
  CosineSimilarity passing(RowReduction::kNone);
  passing.update(a, b);
  EXPECT_NEAR(passing.compute()[0].item<double>(), 0.8, 1e-15);
  EXPECT_TRUE(std::isnan(passing.compute()[1].item<double>()));
  for (const auto reduction : {RowReduction::kNone, RowReduction::kMean}) {
    CosineSimilarity ignoring(reduction, ignore);
    ignoring.update(b, a);
    EXPECT_NEAR(value_of(ignoring), 0.8, 1e-15);
  }
  CosineSimilarity column(RowReduction::kSum, ignore);
  column.update(a.reshape({4, 1}), b.reshape({4, 1}));
  EXPECT_EQ(value_of(column), 3);
  KLDivergence refusing({}, error);
  EXPECT_THAT(refusal_of<c10::Error>([&] { refusing.update(a, b); }),
              HasSubstr("without NaN, got some"));
  const at::Tensor target = at::tensor({1.0, 1.0});
  ContinuousRankedProbabilityScore crps;
  crps.update(a, target);
  EXPECT_TRUE(std::isnan(value_of(crps)));
  ContinuousRankedProbabilityScore without({}, ignore);
  without.update(a, target);
  EXPECT_EQ(value_of(without), 0.25);
  ContinuousRankedProbabilityScore refused({}, error);
  EXPECT_THROW(refused.update(a, target), c10::ValueError);
}

TEST(RowsTest, NanIsNoEvent) {
  const at::Tensor preds = at::tensor({1.0, kNaN, 1.0, 0.0});
  const at::Tensor target = at::tensor({1.0, 1.0, kNaN, 1.0});
  for (const at::ScalarType dtype : {at::kDouble, at::kHalf}) {
    const at::Tensor p = preds.to(dtype);
    const at::Tensor t = target.to(dtype);
    CriticalSuccessIndex passing(0.5);
    passing.update(p, t);
    EXPECT_TRUE(std::isnan(value_of(passing)));
    CriticalSuccessIndex ignoring(
        0.5, MetricOptions().nan_policy(NanPolicy::kIgnore));
    ignoring.update(p, t);
    EXPECT_EQ(value_of(ignoring), 0.5);
    CriticalSuccessIndex refusing(
        0.5, MetricOptions().nan_policy(NanPolicy::kError));
    EXPECT_THROW(refusing.update(p, t.nan_to_num()), c10::ValueError);
    EXPECT_THROW(refusing.update(p.nan_to_num(), t), c10::ValueError);
  }
}

TEST(RowsTest, OffsetsCostEnsemblesNoPrecision) {
  const at::Tensor preds = at::arange(40, at::kDouble).sin().reshape({8, 5});
  const at::Tensor target = at::arange(8, at::kDouble).cos();
  ContinuousRankedProbabilityScore near, far;
  near.update(preds, target);
  far.update(preds.add(1e6), target.add(1e6));
  EXPECT_NEAR(value_of(near), value_of(far), 1e-9);
}

}  // namespace
}  // namespace tally

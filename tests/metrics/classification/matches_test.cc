#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tally/metrics/classification/exact_match.h"
#include "tally/metrics/classification/group_fairness.h"
#include "tally/metrics/collection.h"
#include "tally/testing/compare.h"
#include "tally/tests/metrics/classification/counts_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {

namespace classification = internal::classification;
namespace {

using classification::BinaryBatch;
using classification::BinaryRules;
using classification::MulticlassBatch;
using classification::MultilabelBatch;
using ::tally::testkit::refusal_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor labels(at::IntArrayRef values) { return at::tensor(values); }

TEST(ExactMatchTest, PassesTheHarness) {
  testkit::check_counts<MulticlassExactMatch>();
  testkit::check_counts<MultilabelExactMatch>(/*has_input_option=*/true);
}

TEST(GroupFairnessTest, PassesTheHarness) {
  testkit::check_counts<BinaryGroupStatRates>(/*has_input_option=*/true);
  testkit::check_counts<BinaryFairness>(/*has_input_option=*/true);
}

TEST(ExactMatchTest, LoopsEqualTensorOperations) {
  for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
    for (const std::int64_t positions : {1, 3, 0}) {
      const at::Tensor target = at::randint(-1, 2, {30, positions}, at::kLong);
      at::Tensor scores = at::rand({30, 2, positions});
      scores = scores.masked_fill(at::rand({30, 2, positions}).lt(0.05), kNaN);
      for (const std::int64_t k : {1, 2}) {
        const classification::MulticlassRules rules{2, k, -1, policy};
        const MulticlassBatch batch(rules, scores, target);
        EXPECT_TRUE(
            testkit::same_bits(classification::match_bits_by_tensors(batch),
                               classification::match_bits(batch)));
      }
      const at::Tensor several =
          at::randint(-1, 2, {30, 2, positions}, at::kLong);
      const BinaryRules rules{0.3, ScoreKind::kProbabilities, -1, policy};
      const MultilabelBatch batch(rules, 2, scores, several);
      EXPECT_TRUE(
          testkit::same_bits(classification::match_bits_by_tensors(batch),
                             classification::match_bits(batch)));
    }
  }
}

TEST(ExactMatchTest, NothingCountedIsNaN) {
  MulticlassExactMatch metric(MulticlassExactMatchOptions(3).ignore_index(0));
  EXPECT_TRUE(metric.compute().isnan().item<bool>());
  metric.update(labels({1, 2}), labels({0, 0}));
  EXPECT_TRUE(metric.compute().isnan().item<bool>());
  MultilabelExactMatch each(MultilabelExactMatchOptions(3).multidim_average(
      MultidimAverage::kSamplewise));
  EXPECT_EQ(each.compute().sizes(), at::IntArrayRef({0}));
  each.update(at::empty({2, 3, 0}), at::empty({2, 3, 0}, at::kLong));
  EXPECT_TRUE(testkit::near(each.compute(), at::full({2}, kNaN)));
}

TEST(ExactMatchTest, NanPolicies) {
  const at::Tensor preds = at::tensor({0.9, kNaN, 0.1, 0.1}).view({2, 2});
  const at::Tensor target = labels({1, 1, 1, 0}).view({2, 2});
  const auto value = [&](NanPolicy policy, const at::Tensor& weight) {
    MultilabelExactMatch metric(2, MetricOptions().nan_policy(policy));
    metric.update(preds, target, weight);
    return metric.compute().item<double>();
  };
  EXPECT_TRUE(std::isnan(value(NanPolicy::kPropagate, {})));
  EXPECT_EQ(value(NanPolicy::kIgnore, {}), 0.5);
  EXPECT_EQ(value(NanPolicy::kIgnore, at::tensor({1.0, kNaN})), 1);
  MulticlassExactMatch strict(2, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_THAT(refusal_of<c10::ValueError>([&] {
                strict.update(labels({1}), labels({1}), at::full({1}, kNaN));
              }),
              HasSubstr("expected weight without NaN, got NaN at position 0"));
}

TEST(ExactMatchTest, TopKCountsAsRight) {
  MulticlassExactMatch metric(MulticlassExactMatchOptions(3).top_k(2));
  metric.update(at::tensor({0.5, 0.4, 0.1, 0.5, 0.4, 0.1}).view({2, 3}),
                labels({1, 2}));
  EXPECT_EQ(metric.compute().item<double>(), 0.5);
}

TEST(ExactMatchTest, RefusesInputs) {
  MulticlassExactMatch metric(3);
  MulticlassExactMatch each(MulticlassExactMatchOptions(3).multidim_average(
      MultidimAverage::kSamplewise));
  MultilabelExactMatch several(MultilabelExactMatchOptions(2).multidim_average(
      MultidimAverage::kSamplewise));
  const at::Tensor target = labels({0, 1});
  const auto message = [](Metric& m, const at::Tensor& both,
                          const at::Tensor& weight) {
    return refusal_of<c10::Error>([&] { m.update(both, both, weight); });
  };
  EXPECT_THAT(message(metric, labels({0, 3}), {}), HasSubstr("got 3"));
  EXPECT_THAT(message(metric, target.view({2, 1}), at::rand({2, 1})),
              HasSubstr("expected weight of shape [2], got [2, 1]"));
  EXPECT_THAT(message(each, target, at::rand({2})),
              HasSubstr("expected no weight with multidim_average samplewise"));
  EXPECT_THAT(message(several, target.view({1, 2}), at::rand({1})),
              HasSubstr("expected no weight with multidim_average samplewise"));
}

// Group 1 has no target that is 1, group 2 no positions.
TEST(GroupFairnessTest, OneRateAloneIsComparedWithNone) {
  BinaryFairness fairness(3);
  fairness.update(at::tensor({1, 0, 1, 1}), at::tensor({1, 1, 0, 0}),
                  /*groups=*/at::tensor({0, 0, 1, 1}));
  const Fairness value = fairness.compute();
  EXPECT_EQ(value.demographic_parity.item<double>(), 0.5);
  EXPECT_TRUE(std::isnan(value.equal_opportunity.item<double>()));
  EXPECT_TRUE(value.equal_opportunity_groups.equal(at::tensor({0, 0})));
  BinaryFairness one_group(2);
  one_group.update(at::tensor({1, 0}), at::tensor({1, 1}), at::tensor({1, 1}));
  EXPECT_TRUE(
      std::isnan(one_group.compute().demographic_parity.item<double>()));
}

TEST(GroupFairnessTest, SharesItsState) {
  MetricCollection metrics;
  metrics.add("rates", BinaryGroupStatRates(3));
  metrics.add("fairness", BinaryFairness(3));
  EXPECT_EQ(metrics.groups().size(), 1u);
  metrics.update(labels({1, 0}), labels({1, 1}), labels({2, 0}));
  const Results results = metrics.compute();
  EXPECT_EQ(results["fairness.equal_opportunity"].item<double>(), 0);
  EXPECT_TRUE(testkit::near(results["fairness.demographic_parity_groups"],
                            labels({0, 2})));
  EXPECT_TRUE(results["rates"][1].isnan().all().item<bool>());
}

TEST(GroupFairnessTest, NothingCountedIsNaN) {
  const Fairness nothing = BinaryFairness(2).compute();
  EXPECT_TRUE(nothing.demographic_parity.isnan().item<bool>());
  EXPECT_TRUE(
      testkit::near(nothing.equal_opportunity_groups, labels({-1, -1})));
  BinaryFairness fairness(2);
  fairness.update(at::tensor({0.9, kNaN}), labels({1, 1}), labels({0, 1}));
  EXPECT_TRUE(fairness.compute().demographic_parity.isnan().item<bool>());
  EXPECT_TRUE(testkit::near(fairness.compute().demographic_parity_groups,
                            labels({0, 0})));
}

TEST(GroupFairnessTest, LoopEqualsTensorOperations) {
  const at::Tensor scores =
      at::rand({50}).masked_fill(at::rand({50}).lt(0.1), kNaN);
  const at::Tensor target = at::randint(-1, 2, {50}, at::kLong);
  const at::Tensor groups = at::randint(0, 4, {50}, at::kLong);
  for (const auto policy : {NanPolicy::kPropagate, NanPolicy::kIgnore}) {
    const BinaryRules rules{0.5, ScoreKind::kProbabilities, -1, policy};
    const BinaryBatch batch(rules, scores, target);
    EXPECT_TRUE(testkit::same_bits(
        classification::count_groups_by_tensors(batch, groups, 4),
        classification::count_groups(batch, groups, 4)));
  }
}

TEST(GroupFairnessTest, RefusesInputs) {
  const auto message = [](const at::Tensor& groups) {
    BinaryGroupStatRates metric(
        BinaryGroupStatRatesOptions(2).ignore_index(-1));
    const std::string text = refusal_of<c10::Error>([&] {
      metric.update(at::rand({3}), labels({-1, 1, 0}), groups);
    });
    EXPECT_EQ(metric.update_count(), 0);
    return text;
  };
  EXPECT_THAT(message(labels({9, 0, 2})),
              AllOf(HasSubstr("BinaryGroupStatRates"),
                    HasSubstr("expected groups in [0, 2), got 2 at position "
                              "2")));
  EXPECT_THAT(message(labels({9, -1, 2})), HasSubstr("got -1 at position 1"));
  EXPECT_THAT(message(labels({0, 1})),
              HasSubstr("expected groups and target of the same shape"));
  EXPECT_THAT(message(at::rand({3})),
              HasSubstr("expected groups of an integer dtype"));
  EXPECT_THAT(message({}), HasSubstr("expected a tensor as groups"));
  EXPECT_THAT(refusal_of<c10::ValueError>([] { BinaryFairness(1); }),
              HasSubstr("BinaryFairness: expected num_groups of at least 2, "
                        "got 1"));
  const BinaryRules rules;
  const BinaryBatch batch(rules, at::rand({1}), labels({1}));
  EXPECT_THAT(refusal_of<c10::IndexError>([&] {
                classification::count_groups_by_tensors(batch, labels({2}), 2);
              }),
              HasSubstr("expected groups in [0, 2), got 2 at position 0"));
}

}  // namespace
}  // namespace tally

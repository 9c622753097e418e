#include "tally/metrics/retrieval/positive_ranks.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tally/metrics/retrieval/retrieval_hit_rate.h"
#include "tally/metrics/retrieval/retrieval_mean_rank.h"
#include "tally/metrics/retrieval/retrieval_mrr.h"
#include "tally/tests/testing/metric_harness.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::refusal_of_update;

const double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(PositiveRanksTest, PassTheHarness) {
  testkit::HarnessOptions options;
  // Ranks are no predictions of a target.
  options.target_is_best = false;
  testkit::check_metric<MeanRank>("MeanRank", options);
  testkit::check_metric<MeanReciprocalRank>("MeanReciprocalRank", options);
  testkit::check_metric<RankHitRate>("RankHitRate", options);
}

template <class M, class Options>
double value_of(const at::Tensor& preds, const Options& options) {
  M metric(options);
  metric.update(preds);
  return metric.compute().template item<double>();
}

/// Of the documents that the scores are, with the positive as the relevant one.
template <class M, class Options>
double value_of_documents(const at::Tensor& scores, std::int64_t positive,
                          const Options& options) {
  M metric(options);
  at::Tensor target = at::zeros_like(scores, at::kLong);
  target.narrow(1, positive, 1).fill_(1);
  const at::Tensor queries =
      at::arange(scores.size(0)).unsqueeze(1).expand_as(scores);
  metric.update(scores.reshape(-1), target.reshape(-1), queries.reshape(-1));
  return metric.compute().template item<double>();
}

TEST(PositiveRanksTest, AreTheMetricsOfTheirDocuments) {
  const at::Tensor scores =
      at::arange(200).mul(37).remainder(11).to(at::kFloat).view({25, 8});
  for (const TieOrder ties :
       {TieOrder::kExpected, TieOrder::kPessimistic, TieOrder::kOptimistic}) {
    const auto told = [&](auto options) {
      return options.input(RankInput::kScores).positive(3).ties(ties);
    };
    EXPECT_NEAR(value_of<MeanRank>(scores, told(MeanRankOptions())),
                value_of_documents<RetrievalMeanRank>(
                    scores, 3, RetrievalMeanRankOptions().ties(ties)),
                1e-12);
    EXPECT_NEAR(
        value_of<MeanReciprocalRank>(scores, told(MeanReciprocalRankOptions())),
        value_of_documents<RetrievalMRR>(scores, 3,
                                         RetrievalMRROptions().ties(ties)),
        1e-12);
    EXPECT_NEAR(
        value_of<RankHitRate>(scores, told(RankHitRateOptions().top_k(3))),
        value_of_documents<RetrievalHitRate>(
            scores, 3, RetrievalHitRateOptions().top_k(3).ties(ties)),
        1e-12);
  }
}

TEST(PositiveRanksTest, NanIsNoRank) {
  const auto options = MeanRankOptions().input(RankInput::kScores);
  const at::Tensor scores =
      at::tensor({kNone, 0.5, 0.5, kNone, 0.2, 0.5}, at::kDouble).view({3, 2});
  EXPECT_TRUE(std::isnan(value_of<MeanRank>(scores, options)));
  MeanRank ignoring(options, MetricOptions().nan_policy(NanPolicy::kIgnore));
  ignoring.update(scores);
  EXPECT_EQ(ignoring.compute().item<double>(), 2);
  MeanRank strict(options, MetricOptions().nan_policy(NanPolicy::kError));
  EXPECT_EQ(refusal_of_update(strict, scores),
            "expected preds without NaN, got one in row 0 (MeanRank)");
  EXPECT_TRUE(std::isnan(
      value_of<RankHitRate>(at::tensor({1.0, kNone}), RankHitRateOptions())));
}

TEST(PositiveRanksTest, RefuseWhatIsNoRank) {
  MeanRank ranks;
  EXPECT_EQ(refusal_of_update(ranks, at::tensor({1, 2, 0})),
            "expected ranks from 1 on, got 0 at position 2 (MeanRank)");
  EXPECT_THAT(refusal_of_update(ranks, at::full({2, 3}, 0.5)),
              HasSubstr("expected ranks as preds of shape [N], got [2, 3] "
                        "(input is RankInput::kScores for scores [N, C])"));
  MeanRank unchecked(MeanRankOptions(), MetricOptions().validate_args(false));
  unchecked.update(at::tensor({0, 2}));
  EXPECT_EQ(unchecked.compute().item<double>(), 1);
  MeanRank scores(MeanRankOptions().input(RankInput::kScores).positive(3));
  EXPECT_THAT(refusal_of_update(scores, at::full({2, 3}, 0.5)),
              HasSubstr("[N, C], with C above positive=3, got [2, 3]"));
  EXPECT_THAT(refusal_of_update(scores, at::full({2}, 0.5)),
              HasSubstr("with C above positive=3, got [2]"));
  EXPECT_THAT(
      refusal_of_update<c10::TypeError>(scores, at::full({2, 4}, 1, at::kLong)),
      HasSubstr("floating-point"));
}

TEST(PositiveRanksTest, RefuseOptionsThatDoNotFit) {
  EXPECT_THAT(refusal_of([] { MeanRank(MeanRankOptions().positive(1)); }),
              HasSubstr("positive and ties are of scores: expected "
                        "input=scores, got input=ranks"));
  EXPECT_THAT(
      refusal_of([] {
        MeanRank(
            MeanRankOptions().input(RankInput::kScores).ties(TieOrder::kIds));
      }),
      HasSubstr("as there are no ids, got ids"));
  EXPECT_THAT(refusal_of([] { RankHitRate(RankHitRateOptions().top_k(0)); }),
              HasSubstr("expected top_k to be at least 1, got 0"));
  for (const auto action :
       {EmptyTargetAction::kNegative, EmptyTargetAction::kPositive}) {
    EXPECT_THAT(refusal_of([&] {
                  RetrievalMeanRank(
                      RetrievalMeanRankOptions().empty_target_action(action));
                }),
                HasSubstr("expected empty_target_action to be skip or error"));
  }
}

TEST(RetrievalMeanRankTest, AQueryWithoutOneHasNoRank) {
  const auto update = [](RetrievalMeanRank& metric) {
    const double none = -std::numeric_limits<double>::infinity();
    metric.update(at::tensor({0.5, 0.9, 0.7, none, 0.1}),
                  at::tensor({1, 0, 0, 1, 0}), at::tensor({0, 0, 0, 1, 1}));
  };
  RetrievalMeanRank metric;
  update(metric);
  EXPECT_EQ(metric.compute().item<double>(), 3);
  RetrievalMeanRank strict(RetrievalMeanRankOptions().empty_target_action(
      EmptyTargetAction::kError));
  update(strict);
  EXPECT_THAT(refusal_of([&] { strict.compute(); }),
              HasSubstr("a relevant document that is retrieved"));
}

}  // namespace
}  // namespace tally

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/common/distributions.h"
#include "tally/metrics/intervals/interval_engine.h"
#include "tally/metrics/intervals/proportions.h"
#include "tally/metrics/resampling/philox.h"
#include "tally/metrics/resampling/poisson_count.h"
#include "tally/metrics/resampling/replicate_weights.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::interval_values;
using testkit::refusal_of;
using testkit::tensor_of;
namespace intervals = internal::intervals;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(DistributionsTest, EqualScipy) {
  for (const auto& each : interval_values()["quantiles"]) {
    const double p = each["p"];
    const double z = each["z"];
    const double t = each["t"];
    EXPECT_NEAR(intervals::normal_quantile(p), z, 1e-12 * z);
    EXPECT_NEAR(intervals::normal_quantile(1 - p), -z, 1e-10);
    EXPECT_NEAR(intervals::student_t_quantile(p, each["degrees"]), t, 1e-9 * t);
    EXPECT_NEAR(intervals::student_t_quantile(1 - p, each["degrees"]), -t,
                1e-6 * t);
  }
  EXPECT_EQ(intervals::normal_quantile(0.5), 0);
  EXPECT_EQ(intervals::student_t_quantile(0.5, 3), 0);
  EXPECT_NEAR(intervals::student_t_quantile(0.975, 1e12), 1.959963984540054,
              1e-12);
}

TEST(ProportionsTest, EqualStatsmodels) {
  for (const auto& each : interval_values()["proportions"]) {
    SCOPED_TRACE(each.dump());
    const auto wilson =
        wilson_interval(each["successes"], each["n"], each["level"]);
    EXPECT_NEAR(wilson.low, each["wilson"][0], 1e-12);
    EXPECT_NEAR(wilson.high, each["wilson"][1], 1e-12);
    const auto exact =
        clopper_pearson_interval(each["successes"], each["n"], each["level"]);
    EXPECT_NEAR(exact.low, each["clopper_pearson"][0], 1e-9);
    EXPECT_NEAR(exact.high, each["clopper_pearson"][1], 1e-9);
  }
  EXPECT_TRUE(std::isnan(wilson_interval(0, 0, 0.95).low));
  EXPECT_TRUE(std::isnan(clopper_pearson_interval(0, 0, 0.95).high));
}

TEST(ProportionsTest, RefuseWhatIsNoProportion) {
  EXPECT_THAT(refusal_of([] { wilson_interval(1, 2, 1); }),
              HasSubstr("expected a level in (0, 1), got 1"));
  EXPECT_THAT(refusal_of([] { wilson_interval(3, 2, 0.9); }),
              HasSubstr("expected 0 to n successes, got 3 of 2"));
  EXPECT_THAT(refusal_of([] { clopper_pearson_interval(-1, 2, 0.9); }),
              HasSubstr("got -1 of 2"));
  EXPECT_THAT(refusal_of([] { newcombe_interval(1.5, 2, 2, 0.9); }),
              HasSubstr("expected an area in [0, 1], got 1.5"));
}

TEST(DelongTest, EqualsMidranks) {
  for (const auto& each : interval_values()["areas"]) {
    const AreaEstimate estimate =
        delong(tensor_of(each["scores"]), tensor_of(each["target"]));
    EXPECT_NEAR(estimate.area, each["area"], 1e-12);
    EXPECT_NEAR(estimate.standard_error, each["error"], 1e-12);
    const IntervalBounds ends = delong_interval(estimate, 0.95);
    EXPECT_NEAR(ends.low, each["ends"][0], 1e-9);
    EXPECT_NEAR(ends.high, each["ends"][1], 1e-9);
    const IntervalBounds wide = newcombe_interval(
        estimate.area, estimate.positives, estimate.negatives, 0.95);
    EXPECT_NEAR(wide.low, each["newcombe"][0], 1e-9);
    EXPECT_NEAR(wide.high, each["newcombe"][1], 1e-9);
  }
}

TEST(DelongTest, TakesWeights) {
  const auto& each = interval_values()["weighted_area"];
  const AreaEstimate estimate =
      delong(tensor_of(each["scores"]), tensor_of(each["target"]),
             tensor_of(each["weight"]));
  EXPECT_NEAR(estimate.area, each["area"], 1e-12);
  EXPECT_NEAR(estimate.standard_error, each["error"], 1e-12);
}

TEST(DelongTest, LeavesSamplesOfWeight0Out) {
  // Those with the score of a sample that counts, before it, and others.
  const at::Tensor scores = at::tensor({1., 2., 2., 3., 3., 4.});
  const at::Tensor target = at::tensor({1, 0, 0, 1, 0, 1});
  const at::Tensor weight = at::tensor({1., 0., 1., 2., 1., 0.});
  const at::Tensor kept = weight.gt(0).nonzero().reshape(-1);
  const AreaEstimate all = delong(scores, target, weight);
  const AreaEstimate some =
      delong(scores.index_select(0, kept), target.index_select(0, kept),
             weight.index_select(0, kept));
  // (1 * 0 + 2 * (1 + 1 / 2)) / (3 * 2).
  EXPECT_DOUBLE_EQ(all.area, 0.5);
  EXPECT_DOUBLE_EQ(all.area, some.area);
  EXPECT_DOUBLE_EQ(all.standard_error, some.standard_error);
  EXPECT_EQ(all.positives, 2);
}

TEST(DelongTest, IsNewcombesWhereNothingVaries) {
  for (const auto& each : interval_values()["newcombe"]) {
    AreaEstimate estimate;
    estimate.area = each["area"];
    estimate.positives = estimate.effective_positives = each["positives"];
    estimate.negatives = estimate.effective_negatives = each["negatives"];
    const IntervalBounds ends = delong_interval(estimate, 0.95);
    EXPECT_NEAR(ends.low, each["ends"][0], 1e-9);
    EXPECT_NEAR(ends.high, each["ends"][1], 1e-9);
  }
  AreaEstimate none;
  none.area = none.standard_error = kNaN;
  none.negatives = none.effective_negatives = 4;
  EXPECT_TRUE(std::isnan(delong_interval(none, 0.95).low));
}

TEST(DelongTest, RefusesBadInput) {
  const at::Tensor scores = at::arange(3, at::kDouble);
  EXPECT_THAT(refusal_of([&] { delong(scores, at::ones({4})); }),
              HasSubstr("expected target of sizes [3], got [4]"));
  EXPECT_THAT(refusal_of([&] { delong(scores, scores); }),
              HasSubstr("expected 0 and 1 in target, got 2"));
  EXPECT_THAT(refusal_of([&] { delong(scores / 0, at::ones({3})); }),
              HasSubstr("expected scores without NaN"));
  EXPECT_THAT(
      refusal_of([&] { delong(scores, at::ones({3}), at::full({3}, -1.)); }),
      HasSubstr("expected weights of at least 0, got -1"));
  EXPECT_THAT(refusal_of([&] { delong(scores, at::Tensor()); }),
              HasSubstr("undefined"));
}

TEST(PhiloxTest, EqualsThePublishedVectors) {
  // Of the authors' library Random123.
  EXPECT_THAT(intervals::philox({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(
      intervals::philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                        {0xffffffff, 0xffffffff}),
      ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(
      intervals::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                        {0xa4093822, 0x299f31d0}),
      ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(ReplicateWeightsTest, AreThoseOfTheFormat) {
  for (const auto& each : interval_values()["weights"]) {
    const std::int64_t id = each["id"];
    for (const WeightKind kind :
         {WeightKind::kPoisson, WeightKind::kDoubleOrNothing}) {
      const auto wanted =
          each[EnumNames<WeightKind>::kNames[static_cast<int>(kind)]]
              .get<std::vector<int>>();
      const ReplicateWeights weights(each["seed"], kind,
                                     static_cast<std::int64_t>(wanted.size()));
      const at::Tensor drawn = weights(SampleIds(at::full({1}, id, at::kLong)));
      EXPECT_TRUE(drawn[0].equal(at::tensor(wanted).to(at::kByte))) << drawn;
    }
    EXPECT_EQ(intervals::block_of(each["seed"], id, 20), each["block_of_20"]);
  }
}

TEST(ReplicateWeightsTest, DoNotDependOnHowManyThereAre) {
  const SampleIds ids(at::arange(-2, 3).mul(std::int64_t{1} << 33));
  const ReplicateWeights many(5, WeightKind::kPoisson, 1001);
  const at::Tensor all = many(ids);
  for (std::int64_t count = 1; count < 150; ++count) {
    const ReplicateWeights some(5, WeightKind::kPoisson, count);
    EXPECT_TRUE(some(ids).equal(all.narrow(1, 0, count))) << count;
  }
}

TEST(ReplicateWeightsTest, HaveMeanAndVarianceOne) {
  for (const WeightKind kind :
       {WeightKind::kPoisson, WeightKind::kDoubleOrNothing}) {
    const ReplicateWeights weights(7, kind, 1001);
    const at::Tensor drawn =
        weights(SampleIds(at::arange(1000))).to(at::kDouble);
    EXPECT_NEAR(drawn.mean().item<double>(), 1, 5e-3);
    EXPECT_NEAR(drawn.var().item<double>(), 1, 2e-2);
    // Neither replicates nor rows repeat.
    EXPECT_NEAR(drawn.sum(0).var().item<double>(), 1000, 200);
    EXPECT_NEAR(drawn.sum(1).var().item<double>(), 1001, 200);
  }
  EXPECT_THAT(refusal_of([] { ReplicateWeights(0, WeightKind::kPoisson, 0); }),
              HasSubstr("expected at least 1 replicate, got 0"));
}

TEST(ReplicateWeightsTest, AddUp) {
  // More ids than are counted at a time, and fewer than a vector.
  for (const std::int64_t rows : {1, 15, 16, 129, 9001}) {
    const SampleIds ids(at::arange(rows).mul(-5));
    for (const WeightKind kind :
         {WeightKind::kPoisson, WeightKind::kDoubleOrNothing}) {
      const ReplicateWeights weights(2, kind, 200);
      std::vector<std::uint32_t> sums(
          static_cast<std::size_t>(weights.stride()), 1);
      weights.add(ids.values().data(), rows, sums.data());
      const at::Tensor expected = weights(ids).sum(0, false, at::kLong).add(1);
      for (std::int64_t r = 0; r < 200; ++r) {
        ASSERT_EQ(sums[static_cast<std::size_t>(r)],
                  expected[r].item<std::int64_t>())
            << rows << " " << r;
      }
    }
  }
}

TEST(SampleIdsTest, HashTexts) {
  const SampleIds ids(std::vector<std::string>{"", "abc"});
  EXPECT_EQ(static_cast<std::uint64_t>(ids.values()[0]), 0xef46db3751d8e999u);
  EXPECT_EQ(static_cast<std::uint64_t>(ids.values()[1]), 0x44bc2cf5ad770999u);
  EXPECT_THAT(refusal_of<c10::TypeError>([] { SampleIds(at::ones({2})); }),
              HasSubstr("expected integers or texts"));
  EXPECT_THAT(refusal_of([] { SampleIds(at::full({}, 1, at::kLong)); }),
              HasSubstr("expected sizes [N], got []"));
  EXPECT_THAT(refusal_of([] { SampleIds(at::Tensor()); }),
              HasSubstr("undefined"));
}

TEST(PoissonCountTest, HasItsMomentsForSmallAndLargeCounts) {
  const intervals::PhiloxNumbers numbers(3, intervals::PhiloxStream::kCells);
  for (const std::int64_t count : {1, 7, 512, 513, 1'000'000}) {
    const int draws = 20'000;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < draws; ++i) {
      const double drawn = intervals::poisson_count(
          count, numbers(static_cast<std::uint32_t>(i), 0));
      sum += drawn;
      squares += (drawn - static_cast<double>(count)) *
                 (drawn - static_cast<double>(count));
      if (count <= 512) {
        EXPECT_EQ(drawn, std::floor(drawn));
      }
    }
    const auto mean = static_cast<double>(count);
    EXPECT_NEAR(sum / draws, mean, 4 * std::sqrt(mean / draws));
    EXPECT_NEAR(squares / draws / mean, 1, 0.05);
  }
  EXPECT_EQ(intervals::poisson_count(0, {1, 2, 3, 4}), 0);
}

TEST(ReplicateBoundsTest, EqualScipysFormulas) {
  const auto& each = interval_values()["replicate_ends"];
  for (const ReplicateInterval ends :
       {ReplicateInterval::kPercentile, ReplicateInterval::kBca,
        ReplicateInterval::kNormal, ReplicateInterval::kLogitNormal}) {
    auto replicates = each["replicates"].get<std::vector<double>>();
    const auto bounds = intervals::replicate_bounds(
        each["value"], replicates, ends, 0.95, each["acceleration"]);
    const auto& wanted =
        each[EnumNames<ReplicateInterval>::kNames[static_cast<int>(ends)]];
    EXPECT_NEAR(bounds.low, wanted[0], 1e-9);
    EXPECT_NEAR(bounds.high, wanted[1], 1e-9);
    EXPECT_EQ(bounds.undefined, 0);
  }
}

TEST(ReplicateBoundsTest, LeaveOutUndefinedReplicatesUpToOneInTwenty) {
  std::vector<double> replicates(20, 0.5);
  replicates[0] = 0.4;
  replicates[3] = kNaN;
  auto bounds = intervals::replicate_bounds(
      0.5, replicates, ReplicateInterval::kPercentile, 0.9);
  EXPECT_EQ(bounds.undefined, 1);
  EXPECT_LE(bounds.low, 0.5);
  replicates.assign(20, 0.5);
  replicates[0] = 0.4;
  replicates[3] = replicates[4] = kNaN;
  bounds = intervals::replicate_bounds(0.5, replicates,
                                       ReplicateInterval::kPercentile, 0.9);
  EXPECT_EQ(bounds.undefined, 2);
  EXPECT_TRUE(std::isnan(bounds.low));
  EXPECT_TRUE(bounds.flags.contains(IntervalFlag::kUndefinedBlocks));
}

TEST(ReplicateBoundsTest, AreNoneOfReplicatesThatAreAllEqual) {
  std::vector<double> replicates(20, 0.5);
  const auto bounds = intervals::replicate_bounds(
      0.5, replicates, ReplicateInterval::kPercentile, 0.9);
  EXPECT_TRUE(std::isnan(bounds.low));
  EXPECT_TRUE(bounds.flags.contains(IntervalFlag::kNoVariation));
}

}  // namespace
}  // namespace tally

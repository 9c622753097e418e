#include "tally/metrics/intervals/unpaired_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/metrics/intervals/equivalence.h"
#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::tensor_of;
using testkit::test_values;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(DifferenceIntervalTest, EqualsStatsmodels) {
  for (const auto& each : test_values()["proportions"]) {
    SCOPED_TRACE(each.dump());
    const auto& counts = each["counts"];
    const auto result = compare_proportions(counts[0], counts[1], counts[2],
                                            counts[3], each["level"]);
    EXPECT_NEAR(result.low, each["ends"][0], 1e-12);
    EXPECT_NEAR(result.high, each["ends"][1], 1e-12);
    EXPECT_EQ(result.difference, result.first - result.second);
    if (each["p"].is_null()) {
      EXPECT_TRUE(std::isnan(result.p_value));
    } else {
      EXPECT_NEAR(result.p_value, each["p"], 1e-11 * each["p"].get<double>());
    }
  }
}

TEST(DifferenceIntervalTest, IsNanWithoutRows) {
  EXPECT_TRUE(std::isnan(difference_interval(0, 0, 1, 2, 0.9).low));
  EXPECT_TRUE(std::isnan(difference_interval(1, 2, 0, 0, 0.9).high));
  EXPECT_TRUE(std::isnan(compare_proportions(0, 0, 1, 2, 0.9).p_value));
  EXPECT_TRUE(std::isnan(compare_proportions(0, 0, 1, 2, 0.9).difference));
}

TEST(DifferenceIntervalTest, RefusesWhatIsNoProportion) {
  EXPECT_THAT(refusal_of([] { difference_interval(3, 2, 1, 2, 0.9); }),
              HasSubstr("expected 0 to n successes, got 3 of 2"));
  EXPECT_THAT(refusal_of([] { compare_proportions(1, 2, -1, 2, 0.9); }),
              HasSubstr("expected 0 to n successes, got -1 of 2"));
  EXPECT_THAT(refusal_of([] { difference_interval(1, 2, 1, 2, 0); }),
              HasSubstr("expected a level in (0, 1), got 0"));
}

TEST(CompareAreasUnpairedTest, AddsDelongsVariances) {
  const auto& each = test_values()["areas"];
  const auto estimate = [&](int i) {
    const auto& model = each["models"][i];
    return delong(tensor_of(model["scores"]), tensor_of(model["target"]));
  };
  const AreaEstimate first = estimate(0);
  const AreaEstimate second = estimate(1);
  const AreaComparison result =
      compare_areas_unpaired(first, second, each["level"]);
  EXPECT_EQ(result.first, first.area);
  EXPECT_EQ(result.second, second.area);
  EXPECT_NEAR(result.difference, each["difference"], 1e-12);
  EXPECT_NEAR(result.standard_error, each["error"], 1e-12);
  EXPECT_NEAR(result.low, each["ends"][0], 1e-12);
  EXPECT_NEAR(result.high, each["ends"][1], 1e-12);
  EXPECT_NEAR(result.p_value, each["p"], 1e-11);
}

TEST(CompareAreasUnpairedTest, IsNanWhereNothingVaries) {
  const AreaEstimate one{1, 0, 5, 5};
  const AreaEstimate unknown{0.5, kNaN, 1, 5};
  const AreaEstimate some{0.5, 0.1, 5, 5};
  for (const AreaComparison& result :
       {compare_areas_unpaired(one, one, 0.9),
        compare_areas_unpaired(unknown, some, 0.9)}) {
    EXPECT_FALSE(std::isnan(result.difference));
    EXPECT_TRUE(std::isnan(result.low));
    EXPECT_TRUE(std::isnan(result.high));
    EXPECT_TRUE(std::isnan(result.p_value));
    EXPECT_TRUE(std::isnan(result.standard_error));
  }
  EXPECT_EQ(compare_areas_unpaired(one, some, 0.9).standard_error, 0.1);
}

TEST(CompareAreasUnpairedTest, RefusesWhatIsNoEstimate) {
  const AreaEstimate some{0.5, 0.1, 5, 5};
  EXPECT_THAT(
      refusal_of([&] {
        compare_areas_unpaired({1.5, 0, 5, 5}, some, 0.9);
      }),
      HasSubstr("compare_areas_unpaired: expected an area in [0, 1], got 1.5"));
  EXPECT_THAT(refusal_of([&] {
                compare_areas_unpaired(some, {0.5, -1, 5, 5}, 0.9);
              }),
              HasSubstr("expected a standard error of at least 0, got -1"));
  EXPECT_THAT(refusal_of([&] { compare_areas_unpaired(some, some, 1); }),
              HasSubstr("expected a level in (0, 1), got 1"));
}

SampleSummary summary_of(const nlohmann::json& sample) {
  return {sample[0], sample[1], sample[2]};
}

TEST(WelchTest, EqualsScipy) {
  for (const auto& each : test_values()["samples"]) {
    SCOPED_TRACE(each.dump());
    const auto result =
        welch_test(summary_of(each["first"]), summary_of(each["second"]), 0.95);
    EXPECT_NEAR(result.p_value, each["p"], 1e-9 * each["p"].get<double>());
    EXPECT_NEAR(result.degrees, each["degrees"], 1e-9 * result.degrees);
    EXPECT_NEAR(result.low, each["ends"][0], 1e-9);
    EXPECT_NEAR(result.high, each["ends"][1], 1e-9);
  }
}

TEST(WelchTest, IsNanWhereNothingIsKnown) {
  const SampleSummary some{1, 2, 5};
  for (const WelchResult& result :
       {welch_test(some, {1, kNaN, 1}, 0.9), welch_test({1, 0, 0}, some, 0.9),
        welch_test({1, 0, 9}, {3, 0, 9}, 0.9),
        welch_test({1, kNaN, 9}, some, 0.9),
        welch_test({kNaN, 1, 9}, some, 0.9),
        welch_test({1, kInfinity, 9}, some, 0.9),
        welch_test(some, {kInfinity, 1, 9}, 0.9)}) {
    EXPECT_TRUE(std::isnan(result.low));
    EXPECT_TRUE(std::isnan(result.high));
    EXPECT_TRUE(std::isnan(result.p_value));
    EXPECT_TRUE(std::isnan(result.standard_error));
    EXPECT_TRUE(std::isnan(result.degrees));
  }
  EXPECT_EQ(welch_test({1, 0, 9}, {3, 0, 9}, 0.9).difference, -2);
  // One sample without variation: the degrees of the other.
  EXPECT_DOUBLE_EQ(welch_test({1, 0, 9}, some, 0.9).degrees, 4);
}

TEST(WelchTest, RefusesWhatIsNoSample) {
  const SampleSummary some{1, 2, 5};
  EXPECT_THAT(refusal_of([&] {
                welch_test(some, {1, -2, 5}, 0.9);
              }),
              HasSubstr("welch_test: expected a standard deviation of at "
                        "least 0, got -2"));
  EXPECT_THAT(refusal_of([&] {
                welch_test({1, 2, -3}, some, 0.9);
              }),
              HasSubstr("welch_test: expected n of at least 0, got -3"));
  EXPECT_THAT(refusal_of([&] { welch_test(some, some, 2); }),
              HasSubstr("expected a level in (0, 1), got 2"));
}

TEST(EquivalenceTest, EqualsStatsmodels) {
  int equivalent = 0;
  int non_inferior = 0;
  for (const auto& each : test_values()["samples"]) {
    SCOPED_TRACE(each.dump());
    const auto welch =
        welch_test(summary_of(each["first"]), summary_of(each["second"]), 0.95);
    const EquivalenceResult result =
        equivalence_test(welch.difference, welch.standard_error, welch.degrees,
                         each["margin"], 0.05);
    EXPECT_NEAR(result.low, each["narrow"][0], 1e-9);
    EXPECT_NEAR(result.high, each["narrow"][1], 1e-9);
    EXPECT_NEAR(result.non_inferiority_p, each["non_inferiority_p"], 1e-10);
    EXPECT_NEAR(result.non_superiority_p, each["non_superiority_p"], 1e-10);
    EXPECT_NEAR(result.equivalence_p, each["equivalence_p"], 1e-10);
    const double margin = each["margin"];
    EXPECT_EQ(result.is_non_inferior, result.low >= -margin);
    EXPECT_EQ(result.is_equivalent,
              result.low >= -margin && result.high <= margin);
    equivalent += result.is_equivalent;
    non_inferior += result.is_non_inferior;
  }
  EXPECT_GT(equivalent, 0);
  EXPECT_GT(non_inferior, equivalent);
}

TEST(EquivalenceTest, IsNormalForInfinitelyManyDegrees) {
  const auto& each = test_values()["normal_equivalence"];
  for (const double degrees : {kInfinity, 1e12}) {
    const EquivalenceResult result =
        equivalence_test(each["difference"], each["error"], degrees,
                         each["margin"], each["alpha"]);
    EXPECT_NEAR(result.low, each["ends"][0], 1e-12);
    EXPECT_NEAR(result.high, each["ends"][1], 1e-12);
    EXPECT_NEAR(result.non_inferiority_p, each["non_inferiority_p"], 1e-12);
    EXPECT_NEAR(result.non_superiority_p, each["non_superiority_p"], 1e-12);
    EXPECT_EQ(result.equivalence_p, result.non_inferiority_p);
  }
}

TEST(EquivalenceTest, IsNanWhereSomethingIs) {
  for (const EquivalenceResult& result :
       {equivalence_test(kNaN, 1, 5, 1, 0.05),
        equivalence_test(0, kNaN, 5, 1, 0.05),
        equivalence_test(0, 0, 5, 1, 0.05),
        equivalence_test(0, 1, kNaN, 1, 0.05),
        equivalence_test(0, 1, 5, kNaN, 0.05)}) {
    EXPECT_TRUE(std::isnan(result.low));
    EXPECT_TRUE(std::isnan(result.high));
    EXPECT_TRUE(std::isnan(result.non_inferiority_p));
    EXPECT_TRUE(std::isnan(result.non_superiority_p));
    EXPECT_TRUE(std::isnan(result.equivalence_p));
    EXPECT_FALSE(result.is_non_inferior);
    EXPECT_FALSE(result.is_equivalent);
  }
}

TEST(EquivalenceTest, RefusesBadInput) {
  EXPECT_THAT(refusal_of([] { equivalence_test(0, 1, 5, 0, 0.05); }),
              HasSubstr("equivalence_test: expected a margin above 0, got 0"));
  EXPECT_THAT(refusal_of([] { equivalence_test(0, -1, 5, 1, 0.05); }),
              HasSubstr("expected a standard error of at least 0, got -1"));
  EXPECT_THAT(refusal_of([] { equivalence_test(0, 1, 0, 1, 0.05); }),
              HasSubstr("expected degrees of freedom above 0, got 0"));
  EXPECT_THAT(refusal_of([] { equivalence_test(0, 1, 5, 1, 0.5); }),
              HasSubstr("expected alpha in (0, 0.5), got 0.5"));
}

}  // namespace
}  // namespace tally

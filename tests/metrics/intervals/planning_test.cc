#include "tally/metrics/intervals/planning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;
using testkit::refusal_of;
using testkit::test_values;

TEST(PlanProportionTest, FindsTheFewestRows) {
  for (const auto& each : test_values()["wilson_rows"]) {
    EXPECT_EQ(
        rows_for_proportion(each["proportion"], each["width"], each["level"]),
        each["rows"])
        << each;
  }
}

TEST(PlanProportionTest, RefusesBadInput) {
  EXPECT_THAT(refusal_of([] { rows_for_proportion(1.5, 0.1, 0.9); }),
              HasSubstr("rows_for_proportion: expected a proportion in [0, 1], "
                        "got 1.5"));
  EXPECT_THAT(refusal_of([] { rows_for_proportion(0.5, 1, 0.9); }),
              HasSubstr("expected a width in (0, 1), got 1"));
  EXPECT_THAT(refusal_of([] { rows_for_proportion(0.5, 0.1, 0); }),
              HasSubstr("expected a level in (0, 1), got 0"));
  EXPECT_THAT(
      refusal_of([] { rows_for_proportion(0.5, 1e-6, 0.9); }),
      HasSubstr(
          "rows_for_proportion: more than 10000000 rows would be needed"));
}

TEST(PlanMcnemarTest, SumsOverAllOutcomes) {
  for (const auto& each : test_values()["mcnemar_powers"]) {
    SCOPED_TRACE(each.dump());
    const double power = mcnemar_power(each["first"], each["second"],
                                       each["rows"], each["alpha"]);
    EXPECT_NEAR(power, each["power"], 1e-11);
    EXPECT_NEAR(mcnemar_power(each["second"], each["first"], each["rows"],
                              each["alpha"]),
                power, 1e-13);
  }
  EXPECT_EQ(mcnemar_power(0.2, 0.1, 0, 0.05), 0);
  EXPECT_EQ(mcnemar_power(0, 0, 100, 0.05), 0);
  // By hand: all of 6 rows are the first model's, with mid-p 2 / 2^6 - 1 / 2^6;
  // of 5 rows it would be 0.031 as well, of 4 rows 0.0625.
  EXPECT_DOUBLE_EQ(mcnemar_power(1, 0, 6, 0.05), 1);
  EXPECT_DOUBLE_EQ(mcnemar_power(1, 0, 5, 0.05), 1);
  EXPECT_DOUBLE_EQ(mcnemar_power(1, 0, 4, 0.05), 0);
  EXPECT_DOUBLE_EQ(mcnemar_power(0.5, 0.5, 5, 0.05), 2. / 32);
}

TEST(PlanMcnemarTest, FindsTheFewestRows) {
  for (const auto& each : test_values()["mcnemar_rows"]) {
    EXPECT_EQ(rows_for_mcnemar(each["first"], each["second"], each["power"],
                               each["alpha"]),
              each["rows"])
        << each;
  }
}

TEST(PlanMcnemarTest, AgreesWithTheNormalApproximationForManyRows) {
  // Connor 1987: (z sqrt(s) + z' sqrt(s - d^2))^2 / d^2, with s = 0.11 and
  // d = 0.01: 8625 rows.
  const std::int64_t rows = rows_for_mcnemar(0.06, 0.05, 0.8, 0.05);
  EXPECT_NEAR(static_cast<double>(rows), 8625, 40);
  EXPECT_GE(mcnemar_power(0.06, 0.05, rows, 0.05), 0.8);
  EXPECT_LT(mcnemar_power(0.06, 0.05, rows - 1, 0.05), 0.8);
}

TEST(PlanMcnemarTest, RefusesBadInput) {
  EXPECT_THAT(refusal_of([] { mcnemar_power(0.6, 0.5, 10, 0.05); }),
              HasSubstr("mcnemar_power: expected rates of at least 0 and at "
                        "most 1 together, got 0.6 and 0.5"));
  EXPECT_THAT(refusal_of([] { mcnemar_power(0.1, -0.5, 10, 0.05); }),
              HasSubstr("got 0.1 and -0.5"));
  EXPECT_THAT(refusal_of([] { mcnemar_power(0.1, 0.2, -1, 0.05); }),
              HasSubstr("expected 0 to 10000000 rows, got -1"));
  EXPECT_THAT(refusal_of([] { mcnemar_power(0.1, 0.2, 10, 1); }),
              HasSubstr("expected alpha in (0, 1), got 1"));
  EXPECT_THAT(refusal_of([] { rows_for_mcnemar(0.1, 0.1, 0.8, 0.05); }),
              HasSubstr("rows_for_mcnemar: expected rates that differ, got 0.1 "
                        "twice"));
  EXPECT_THAT(refusal_of([] { rows_for_mcnemar(0.1, 0.2, 1, 0.05); }),
              HasSubstr("expected a power in (0, 1), got 1"));
  EXPECT_THAT(refusal_of([] { rows_for_mcnemar(0.1, 0.2, 0.8, 0); }),
              HasSubstr("expected alpha in (0, 1), got 0"));
  EXPECT_THAT(refusal_of([] { rows_for_mcnemar(1e-9, 0, 0.8, 0.05); }),
              HasSubstr("more than 10000000 rows would be needed"));
}

TEST(PlanAreaTest, HasTheErrorOfHanleyAndMcNeil) {
  const auto& each = test_values()["area_error"];
  EXPECT_NEAR(
      expected_area_error(each["area"], each["positives"], each["negatives"]),
      each["error"], 1e-14);
  // By hand, with Q1 = 0.6 and Q2 = 9 / 14.
  EXPECT_NEAR(expected_area_error(0.75, 50, 50),
              std::sqrt((0.1875 + 49 * (0.6 + 9. / 14 - 1.125)) / 2500), 1e-14);
  EXPECT_TRUE(std::isnan(expected_area_error(0.75, 0, 50)));
  EXPECT_TRUE(std::isnan(expected_area_error(0.75, 50, 0)));
}

TEST(PlanAreaTest, FindsTheFewestRows) {
  for (const auto& each : test_values()["area_rows"]) {
    EXPECT_EQ(rows_for_area(each["area"], each["prevalence"], each["width"],
                            each["level"]),
              each["rows"])
        << each;
  }
  // Nothing varies, and the interval is Newcombe's.
  const std::int64_t rows = rows_for_area(1, 0.5, 0.2, 0.95);
  EXPECT_LE(expected_area_width(1, 0.5, static_cast<double>(rows), 0.95), 0.2);
  EXPECT_TRUE(std::isnan(expected_area_width(0.9, 0.5, 1, 0.95)));
  EXPECT_EQ(rows_for_area(0.5, 0.1, 0.999, 0.5), 20);
}

TEST(PlanAreaTest, RefusesBadInput) {
  EXPECT_THAT(refusal_of([] { expected_area_error(-1, 2, 2); }),
              HasSubstr("expected_area_error: expected an area in [0, 1], "
                        "got -1"));
  EXPECT_THAT(refusal_of([] { expected_area_error(0.5, 2, -2); }),
              HasSubstr("expected numbers of at least 0, got 2 and -2"));
  EXPECT_THAT(refusal_of([] { expected_area_width(0.5, 1, 10, 0.9); }),
              HasSubstr("expected a prevalence in (0, 1), got 1"));
  EXPECT_THAT(refusal_of([] { expected_area_width(1.5, 0.5, 10, 0.9); }),
              HasSubstr("expected an area in [0, 1], got 1.5"));
  EXPECT_THAT(refusal_of([] { expected_area_width(0.5, 0.5, 10, 1); }),
              HasSubstr("expected a level in (0, 1), got 1"));
  EXPECT_THAT(refusal_of([] { expected_area_width(0.5, 0.5, -1, 0.9); }),
              HasSubstr("expected 0 to 10000000 rows, got -1"));
  EXPECT_THAT(refusal_of([] { rows_for_area(0.5, 0.5, 0, 0.9); }),
              HasSubstr("rows_for_area: expected a width in (0, 1), got 0"));
  EXPECT_THAT(refusal_of([] { rows_for_area(0.5, 0, 0.1, 0.9); }),
              HasSubstr("expected a prevalence in (0, 1), got 0"));
  EXPECT_THAT(refusal_of([] { rows_for_area(0.5, 1e-8, 0.1, 0.9); }),
              HasSubstr("more than 10000000 rows would be needed"));
}

TEST(PlanComparedAreasTest, EqualTheFormula) {
  for (const auto& each : test_values()["areas_powers"]) {
    SCOPED_TRACE(each.dump());
    const auto& given = each["areas"];
    const ExpectedAreas areas{given[0], given[1], given[2], given[3]};
    EXPECT_NEAR(compared_areas_power(areas, 500, each["alpha"]),
                each["power_of_500"], 1e-11);
    EXPECT_EQ(rows_for_compared_areas(areas, 0.8, each["alpha"]), each["rows"]);
  }
  EXPECT_NEAR(compared_areas_power({0.8, 0.8, 0.5, 0.3}, 500, 0.05), 0.05,
              1e-12);
  EXPECT_TRUE(std::isnan(compared_areas_power({0.8, 0.9, 0.5, 0.3}, 1, 0.05)));
  EXPECT_TRUE(std::isnan(compared_areas_power({0, 1, 0.5, 0.3}, 50, 0.05)));
}

TEST(PlanComparedAreasTest, RefuseBadInput) {
  EXPECT_THAT(
      refusal_of([] {
        compared_areas_power({2, 0.9, 0, 0.3}, 9, 0.05);
      }),
      HasSubstr("compared_areas_power: expected an area in [0, 1], got 2"));
  EXPECT_THAT(refusal_of([] {
                compared_areas_power({0.8, -1, 0, 0.3}, 9, 0.05);
              }),
              HasSubstr("expected an area in [0, 1], got -1"));
  EXPECT_THAT(refusal_of([] {
                compared_areas_power({0.8, 0.9, 1, 0.3}, 9, 0.05);
              }),
              HasSubstr("expected a correlation in (-1, 1), got 1"));
  EXPECT_THAT(refusal_of([] {
                compared_areas_power({0.8, 0.9, 0, 0}, 9, 0.05);
              }),
              HasSubstr("expected a prevalence in (0, 1), got 0"));
  EXPECT_THAT(refusal_of([] {
                compared_areas_power({0.8, 0.9, 0, 0.3}, -9, 0.05);
              }),
              HasSubstr("expected 0 to 10000000 rows, got -9"));
  EXPECT_THAT(refusal_of([] {
                compared_areas_power({0.8, 0.9, 0, 0.3}, 9, 1);
              }),
              HasSubstr("expected alpha in (0, 1), got 1"));
  EXPECT_THAT(
      refusal_of([] {
        rows_for_compared_areas({0.8, 0.8, 0, 0.3}, 0.8, 0.05);
      }),
      HasSubstr("rows_for_compared_areas: expected areas that differ, got 0.8 "
                "twice"));
  EXPECT_THAT(refusal_of([] {
                rows_for_compared_areas({0.8, 0.9, 0, 0.3}, 0, 0.05);
              }),
              HasSubstr("expected a power in (0, 1), got 0"));
  EXPECT_THAT(refusal_of([] {
                rows_for_compared_areas({0.8, 0.9, 0, 0}, 0.8, 0.05);
              }),
              HasSubstr("expected a prevalence in (0, 1), got 0"));
}

}  // namespace
}  // namespace tally

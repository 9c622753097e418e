#include "tally/metrics/intervals/multiple_tests.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/tests/metrics/intervals/reference.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Pointwise;
using testkit::refusal_of;
using testkit::test_values;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Method {
  const char* name;
  std::vector<double> (*of_vector)(const std::vector<double>&);
  at::Tensor (*of_tensor)(const at::Tensor&);
};

const Method kMethods[] = {
    {"holm", holm, holm},
    {"hochberg", hochberg, hochberg},
    {"benjamini_hochberg", benjamini_hochberg, benjamini_hochberg},
};

TEST(MultipleTestsTest, EqualStatsmodels) {
  for (const auto& each : test_values()["adjustments"]) {
    for (const Method& method : kMethods) {
      const std::vector<double> p = each["p"];
      const std::vector<double> expected = each[method.name];
      EXPECT_THAT(method.of_vector(p), Pointwise(DoubleNear(1e-14), expected))
          << method.name;
    }
  }
}

TEST(MultipleTestsTest, DoNotCountNan) {
  for (const Method& method : kMethods) {
    const auto all = method.of_vector({kNaN, 0.01, 0.04, kNaN, 0.03});
    const auto some = method.of_vector({0.01, 0.04, 0.03});
    EXPECT_THAT(all, ElementsAre(IsNan(), some[0], some[1], IsNan(), some[2]));
    EXPECT_THAT(method.of_vector({kNaN}), ElementsAre(IsNan()));
    EXPECT_TRUE(method.of_vector({}).empty());
  }
}

TEST(MultipleTestsTest, KeepTheOrderOfPValues) {
  for (const Method& method : kMethods) {
    std::vector<double> p;
    for (int i = 0; i <= 50; ++i) p.push_back(i * i / 2500.);
    const auto adjusted = method.of_vector(p);
    EXPECT_EQ(adjusted.back(), 1);
    for (std::size_t i = 0; i < p.size(); ++i) {
      EXPECT_GE(adjusted[i], p[i]);
      EXPECT_GE(adjusted[i], adjusted[i > 0 ? i - 1 : 0]);
    }
  }
}

TEST(MultipleTestsTest, KeepTheShapeOfTensors) {
  const at::Tensor p =
      at::tensor({0.01, kNaN, 0.04, 0.03}, at::kFloat).reshape({2, 2}).t();
  for (const Method& method : kMethods) {
    const at::Tensor adjusted = method.of_tensor(p);
    EXPECT_EQ(adjusted.scalar_type(), at::kDouble);
    EXPECT_EQ(adjusted.sizes(), p.sizes());
    // Of float32 0.03 and 0.01 of three.
    EXPECT_NEAR(adjusted[0][0].item<double>(), 0.03, 1e-8);
    EXPECT_TRUE(std::isnan(adjusted[1][0].item<double>()));
    EXPECT_EQ(method.of_tensor(at::empty({0, 3})).sizes(),
              at::IntArrayRef({0, 3}));
    EXPECT_EQ(method.of_tensor(at::zeros({}, at::kLong)).item<double>(), 0);
  }
}

TEST(MultipleTestsTest, RefuseWhatIsNoPValue) {
  for (const Method& method : kMethods) {
    const std::string name = method.name;
    EXPECT_THAT(refusal_of([&] {
                  method.of_vector({0.5, 1.5});
                }),
                HasSubstr(name + ": expected p-values in [0, 1], got 1.5"));
    EXPECT_THAT(refusal_of([&] { method.of_tensor(at::tensor({-0.25})); }),
                HasSubstr(name + ": expected p-values in [0, 1], got -0.25"));
    EXPECT_THAT(refusal_of([&] { method.of_tensor(at::Tensor()); }),
                HasSubstr(name + ": expected p-values, got an undefined"));
    EXPECT_THAT(refusal_of<c10::TypeError>([&] {
                  method.of_tensor(at::zeros({1}, at::kComplexFloat));
                }),
                HasSubstr(name + ": expected real p-values, got ComplexFloat"));
  }
}

}  // namespace
}  // namespace tally

#include "tally/state/number.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor leaf(double value) {
  return at::scalar_tensor(value, at::kDouble).set_requires_grad(true);
}

TEST(NumberTest, IsPlainZeroByDefault) {
  const Number number;
  EXPECT_TRUE(number.is_plain());
  EXPECT_EQ(number.value(), 0);
  EXPECT_FALSE(number.requires_grad());
}

TEST(NumberTest, CalculatesLikeDoubles) {
  Number a = 3.5;
  const Number b = -2;
  EXPECT_EQ((a + b).value(), 1.5);
  EXPECT_EQ((a - b).value(), 5.5);
  EXPECT_EQ((a * b).value(), -7);
  EXPECT_EQ((a / b).value(), -1.75);
  EXPECT_EQ((-a).value(), -3.5);
  EXPECT_EQ((a / Number()).value(), kInf);
  EXPECT_TRUE(std::isnan((Number() / Number()).value()));
  EXPECT_EQ(sqrt(Number(2.25)).value(), 1.5);
  EXPECT_EQ(min(a, b).value(), -2);
  EXPECT_EQ(max(a, b).value(), 3.5);
  a += b;
  EXPECT_EQ(a.value(), 1.5);
  EXPECT_TRUE(a.is_plain());
}

TEST(NumberTest, LeastAndGreatestKeepNaN) {
  EXPECT_TRUE(std::isnan(min(Number(kNaN), Number(1)).value()));
  EXPECT_TRUE(std::isnan(min(Number(1), Number(kNaN)).value()));
  EXPECT_TRUE(std::isnan(max(Number(kNaN), Number(1)).value()));
  EXPECT_TRUE(std::isnan(max(Number(leaf(kNaN)), Number(1)).value()));
}

TEST(NumberTest, ReadsTensorsWithoutAGraphAtOnce) {
  for (const auto dtype :
       {at::kFloat, at::kDouble, at::kLong, at::kInt, at::kBool, at::kHalf}) {
    at::Tensor tensor = at::full({1, 1}, 1, dtype);
    const Number number(tensor);
    EXPECT_TRUE(number.is_plain()) << dtype;
    tensor.zero_();
    EXPECT_EQ(number.value(), 1) << dtype;
  }
}

TEST(NumberTest, KeepsAGraphThroughArithmetic) {
  at::Tensor x = leaf(3);
  at::Tensor y = leaf(2);
  const Number a(x.mul(1));
  const Number b(y.mul(1));
  EXPECT_FALSE(a.is_plain());
  const Number result =
      Number(2) * a * b - a / b + sqrt(a * Number(12)) - Number(1);
  ASSERT_TRUE(result.requires_grad());
  EXPECT_DOUBLE_EQ(result.value(), 12 - 1.5 + 6 - 1);
  result.tensor().backward();
  EXPECT_DOUBLE_EQ(x.grad().item<double>(), 4 - 0.5 + 1);
  EXPECT_DOUBLE_EQ(y.grad().item<double>(), 6 + 0.75);
}

TEST(NumberTest, LeastAndGreatestHaveGradients) {
  at::Tensor x = leaf(3);
  (min(Number(x), Number(5)) + max(Number(x), Number(5))).tensor().backward();
  EXPECT_EQ(x.grad().item<double>(), 1);
}

TEST(NumberTest, WidensAGraphToDoubleWithoutDimensions) {
  const at::Tensor x =
      at::full({1, 1}, 0.1, at::kFloat).set_requires_grad(true);
  const at::Tensor tensor = Number(x);
  EXPECT_EQ(tensor.scalar_type(), at::kDouble);
  EXPECT_EQ(tensor.dim(), 0);
  EXPECT_EQ(at::Tensor(Number(4)).scalar_type(), at::kDouble);
}

TEST(NumberTest, DropsItsGraph) {
  const Number number(leaf(3).mul(2));
  EXPECT_TRUE(number.detach().is_plain());
  EXPECT_EQ(number.detach().value(), 6);
  EXPECT_EQ(Number(7).detach().value(), 7);
}

TEST(NumberTest, TakesNoGraphWhereNoneIsRecorded) {
  at::Tensor x = leaf(3);
  const at::NoGradGuard no_grad;
  const Number number(x);
  EXPECT_TRUE(number.is_plain());
  x.fill_(4);
  EXPECT_EQ(number.value(), 3);
}

TEST(NumberTest, RefusesOtherThanOneElement) {
  const auto message = [](const at::Tensor& tensor) {
    return testkit::refusal_of([&] { Number number(tensor); });
  };
  EXPECT_EQ(message(at::empty({2})),
            "expected a tensor of one element, got sizes [2]");
  EXPECT_EQ(message(at::empty({0})),
            "expected a tensor of one element, got sizes [0]");
  EXPECT_EQ(message(at::Tensor()),
            "expected a tensor of one element, got an undefined one");
}

}  // namespace
}  // namespace tally

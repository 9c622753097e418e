#include "tally/tests/testing/sum_order.h"

#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linalg_eigvalsh.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tally::testkit {
namespace {

using Call = std::function<at::Tensor()>;

at::Tensor with_threads(int threads, const Call& call) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  at::Tensor result = call();
  at::set_num_threads(before);
  return result;
}

at::Tensor in_order(std::uint64_t seed, const Call& call) {
  const SumOrder order(seed);
  return call();
}

void expect_rounding(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_FALSE(a.equal(b));
  EXPECT_TRUE(a.allclose(b, 1e-11, 1e-11));
}

TEST(SumOrderTest, IsOfSeedAndThreads) {
  const at::Tensor a = at::randn({60, 70}, at::kDouble);
  const at::Tensor b = at::randn({70, 50}, at::kDouble);
  const at::Tensor c = at::randn({60, 50}, at::kDouble);
  const at::Tensor batch = at::randn({3, 60, 70}, at::kDouble);
  const at::Tensor many = at::randn({50'000}, at::kDouble);
  const std::vector<std::pair<std::string, Call>> calls = {
      {"matmul", [&] { return a.matmul(b); }},
      {"bmm",
       [&] {
         return batch.matmul(b.unsqueeze(0).expand({3, 70, 50}));
       }},
      {"mv", [&] { return a.matmul(b.select(1, 0)); }},
      {"dot", [&] { return many.dot(many.flip(0)); }},
      {"addmm", [&] { return at::addmm(c, a, b, 2, 3); }},
      {"addmm_", [&] { return c.clone().addmm_(a, b, 2, 3); }},
      {"baddbmm_",
       [&] {
         return c.unsqueeze(0).clone().baddbmm_(a.unsqueeze(0), b.unsqueeze(0));
       }},
      {"eigvalsh", [&] { return at::linalg_eigvalsh(a.matmul(a.t())); }},
      {"sum", [&] { return many.sum(); }},
      {"mean", [&] { return many.mean(); }},
      {"norm", [&] { return at::linalg_vector_norm(many); }},
      {"var", [&] { return many.var(); }},
  };
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    const at::Tensor own = call();
    const at::Tensor other = in_order(1, call);
    expect_rounding(other, own);
    expect_rounding(in_order(2, call), other);
    expect_rounding(
        with_threads(3, [&, &run = call] { return in_order(1, run); }), other);
    EXPECT_TRUE(in_order(1, call).equal(other));
    EXPECT_TRUE(call().equal(own));
  }
}

TEST(SumOrderTest, OfFewNumbersIsOfTheSeedAlone) {
  const at::Tensor few = at::randn({1000}, at::kDouble);
  const Call sum = [&] { return few.sum(); };
  const at::Tensor other = in_order(1, sum);
  expect_rounding(other, sum());
  EXPECT_TRUE(with_threads(3, [&] { return in_order(1, sum); }).equal(other));
}

TEST(SumOrderTest, IsOfThePlaceInAProduct) {
  const std::int64_t terms = 20'000;
  const at::Tensor row = at::randn({1, terms}, at::kDouble);
  const at::Tensor column = at::randn({terms, 1}, at::kDouble);
  const SumOrder order(1);
  const at::Tensor all =
      row.expand({2, terms}).matmul(column.expand({terms, 2}));
  EXPECT_NE(all[0][0].item<double>(), all[1][0].item<double>());
  EXPECT_NE(all[0][0].item<double>(), all[0][1].item<double>());
}

TEST(SumOrderTest, IntegersAndNothingAreLeft) {
  const at::Tensor numbers = at::randn({4, 5}).mul(100).to(at::kLong);
  const at::Tensor none = at::randn({3, 0});
  const at::Tensor product = numbers.matmul(numbers.t());
  const SumOrder order(1);
  EXPECT_TRUE(numbers.matmul(numbers.t()).equal(product));
  EXPECT_EQ(none.matmul(none.t()).sum().item<double>(), 0);
}

TEST(SumOrderTest, GradientsPassThrough) {
  const at::Tensor a = at::randn({4, 5}, at::kDouble).requires_grad_();
  const at::Tensor b = at::randn({5, 3}, at::kDouble);
  const SumOrder order(1);
  a.matmul(b).sum().backward();
  EXPECT_TRUE(a.grad().allclose(b.sum(1).expand({4, 5}), 1e-12, 1e-12));
}

}  // namespace
}  // namespace tally::testkit

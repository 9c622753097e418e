#include "tally/tests/testing/sum_order.h"

#include <ATen/Parallel.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linalg_eigvalsh.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tally::testkit {
namespace {

using Call = std::function<at::Tensor()>;

// Not that of --config=sums, in which all tests may run.
constexpr std::uint64_t kSeed = 11;
// One sum may happen to be the same in two orders; not all of these.
constexpr std::int64_t kSums = 16;

at::Tensor with_one_thread_more(const Call& call) {
  const int before = at::get_num_threads();
  at::set_num_threads(before + 1);
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
  const at::Tensor many = at::randn({kSums, 10'000}, at::kDouble);
  const std::vector<std::pair<std::string, Call>> calls = {
      {"matmul", [&] { return a.matmul(b); }},
      {"bmm",
       [&] {
         return batch.matmul(b.unsqueeze(0).expand({3, 70, 50}));
       }},
      {"mv", [&] { return a.matmul(b.select(1, 0)); }},
      {"dot",
       [&] {
         std::vector<at::Tensor> products;
         for (const at::Tensor& row : many.unbind()) {
           products.push_back(row.dot(row.flip(0)));
         }
         return at::stack(products);
       }},
      {"addmm", [&] { return at::addmm(c, a, b, 2, 3); }},
      {"addmm_", [&] { return c.clone().addmm_(a, b, 2, 3); }},
      {"baddbmm_",
       [&] {
         return c.unsqueeze(0).clone().baddbmm_(a.unsqueeze(0), b.unsqueeze(0));
       }},
      {"eigvalsh", [&] { return at::linalg_eigvalsh(a.matmul(a.t())); }},
      {"sum", [&] { return many.sum(1); }},
      {"mean", [&] { return many.mean(1); }},
      {"norm", [&] { return at::linalg_vector_norm(many, 2, {1}); }},
      {"var", [&] { return many.var(1); }},
  };
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    const at::Tensor own = call();
    const at::Tensor other = in_order(kSeed, call);
    expect_rounding(other, own);
    expect_rounding(in_order(kSeed + 1, call), other);
    expect_rounding(
        with_one_thread_more([&, &run = call] { return in_order(kSeed, run); }),
        other);
    EXPECT_TRUE(in_order(kSeed, call).equal(other));
    EXPECT_TRUE(call().equal(own));
  }
}

TEST(SumOrderTest, OfFewNumbersIsOfTheSeedAlone) {
  const at::Tensor few = at::randn({kSums, 1000}, at::kDouble);
  const Call sum = [&] { return few.sum(1); };
  const at::Tensor other = in_order(kSeed, sum);
  expect_rounding(other, sum());
  EXPECT_TRUE(
      with_one_thread_more([&] { return in_order(kSeed, sum); }).equal(other));
}

TEST(SumOrderTest, IsOfThePlaceInAProduct) {
  const std::int64_t terms = 20'000;
  const at::Tensor row = at::randn({kSums, 1, terms}, at::kDouble);
  const at::Tensor column = at::randn({kSums, terms, 1}, at::kDouble);
  const SumOrder order(kSeed);
  const at::Tensor all =
      row.expand({kSums, 2, terms}).matmul(column.expand({kSums, terms, 2}));
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return all.select(1, i).select(1, j);
  };
  EXPECT_FALSE(at(0, 0).equal(at(1, 0)));
  EXPECT_FALSE(at(0, 0).equal(at(0, 1)));
}

TEST(SumOrderTest, IntegersAndNothingAreLeft) {
  const at::Tensor numbers = at::randn({4, 5}).mul(100).to(at::kLong);
  const at::Tensor none = at::randn({3, 0});
  const at::Tensor product = numbers.matmul(numbers.t());
  const SumOrder order(kSeed);
  EXPECT_TRUE(numbers.matmul(numbers.t()).equal(product));
  EXPECT_EQ(none.matmul(none.t()).sum().item<double>(), 0);
}

TEST(SumOrderTest, GradientsPassThrough) {
  const at::Tensor a = at::randn({4, 5}, at::kDouble).requires_grad_();
  const at::Tensor b = at::randn({5, 3}, at::kDouble);
  const SumOrder order(kSeed);
  a.matmul(b).sum().backward();
  EXPECT_TRUE(a.grad().allclose(b.sum(1).expand({4, 5}), 1e-12, 1e-12));
}

}  // namespace
}  // namespace tally::testkit

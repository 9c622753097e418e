#include "tally/state/fresh_tensor.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tally::internal {
namespace {

TEST(FreshTensorTest, HasTheSizesAndDtypeOfAnyOther) {
  const std::vector<std::vector<std::int64_t>> shapes = {
      {}, {0}, {3}, {2, 0}, {4, 5}, {100, 100}, {3, 700'001}};
  for (const auto& sizes : shapes) {
    for (const at::ScalarType dtype : {at::kDouble, at::kLong, at::kByte}) {
      at::Tensor tensor = fresh_tensor(sizes, dtype);
      EXPECT_EQ(tensor.sizes(), at::IntArrayRef(sizes));
      EXPECT_EQ(tensor.scalar_type(), dtype);
      EXPECT_TRUE(tensor.is_cpu());
      EXPECT_TRUE(tensor.is_contiguous());
      tensor.fill_(3);
      EXPECT_TRUE(tensor.eq(3).all().item<bool>());
      const at::Tensor zeros = fresh_zeros(sizes, dtype);
      EXPECT_EQ(zeros.scalar_type(), dtype);
      EXPECT_TRUE(zeros.equal(tensor.fill_(0)));
    }
  }
}

TEST(FreshTensorTest, MoreThanThereCanBeIsAnError) {
  EXPECT_THROW(fresh_tensor({std::int64_t{1} << 61, 8}, at::kByte), c10::Error);
  EXPECT_THROW(
      fresh_tensor({std::int64_t{1} << 32, std::int64_t{1} << 32}, at::kByte),
      c10::Error);
}

TEST(FreshTensorTest, CanGrowAndHaveAGraph) {
  at::Tensor tensor = fresh_tensor({2}, at::kDouble);
  tensor.fill_(1);
  tensor.resize_({1000}).fill_(2);
  EXPECT_EQ(tensor.sum().item<double>(), 2000);
  at::Tensor large = fresh_tensor({1'000'000}, at::kFloat);
  large.fill_(1);
  large.resize_({2'000'000}).narrow(0, 1'000'000, 1'000'000).fill_(2);
  EXPECT_EQ(large.sum().item<double>(), 3'000'000);
  at::Tensor leaf = fresh_tensor({2}, at::kDouble);
  leaf.fill_(1).set_requires_grad(true);
  leaf.mul(3).sum().backward();
  EXPECT_TRUE(leaf.grad().equal(at::ones({2}, at::kDouble).mul(3)));
}

TEST(FreshTensorTest, CopiesAsCloneDoes) {
  const at::Tensor table = at::arange(12, at::kLong).reshape({3, 4});
  for (const at::Tensor& from :
       {table, table.t(), table.select(0, 1), table.narrow(0, 0, 0),
        table.gt(3), at::ones({100, 100})}) {
    const at::Tensor copy = fresh_copy(from);
    EXPECT_TRUE(copy.equal(from));
    EXPECT_EQ(copy.scalar_type(), from.scalar_type());
    EXPECT_FALSE(copy.is_alias_of(from));
  }
}

TEST(FreshTensorTest, CopiesTheGraphWhereThereIsOne) {
  const at::Tensor leaf = at::ones({2}).set_requires_grad(true);
  EXPECT_TRUE(fresh_copy(leaf).requires_grad());
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(fresh_copy(leaf).requires_grad());
}

}  // namespace
}  // namespace tally::internal

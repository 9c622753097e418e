#include "tally/training/stack.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace tally::training {
namespace {

using torch::data::Example;
using torch::data::TensorExample;

TEST(StackTest, StacksExamples) {
  const Example<> example{at::ones({2, 3}, at::kDouble),
                          at::scalar_tensor(7, at::kLong)};
  Stack<> stack(example);
  const Example<> batch = stack.apply_batch(
      {example,
       {at::zeros({2, 3}, at::kDouble), at::scalar_tensor(8, at::kLong)}});
  EXPECT_EQ(batch.data.sizes(), (std::vector<std::int64_t>{2, 2, 3}));
  EXPECT_TRUE(batch.target.equal(at::tensor({7, 8}, at::kLong)));
}

TEST(StackTest, MakesABatchOfNoRows) {
  Stack<> stack(
      {at::ones({2, 3}, at::kDouble), at::scalar_tensor(7, at::kLong)});
  const Example<> batch = stack.apply_batch({});
  EXPECT_EQ(batch.data.sizes(), (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(batch.data.scalar_type(), at::kDouble);
  EXPECT_EQ(batch.target.sizes(), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(batch.target.scalar_type(), at::kLong);
}

TEST(StackTest, TakesExamplesWithoutTarget) {
  Stack<TensorExample> stack{TensorExample(at::ones({4}))};
  EXPECT_EQ(stack.apply_batch({}).data.sizes(),
            (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(stack.empty_batch().data.sizes(),
            (std::vector<std::int64_t>{0, 4}));
  const TensorExample batch = stack.apply_batch(
      {TensorExample(at::ones({4})), TensorExample(at::full({4}, 2.0))});
  EXPECT_EQ(batch.data.sum().item<double>(), 12);
}

}  // namespace
}  // namespace tally::training

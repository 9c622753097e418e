#include "tally/state/rows.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::testing::HasSubstr;

at::Tensor counting(std::int64_t from, std::int64_t to) {
  return at::arange(from, to, at::kDouble);
}

void expect_equal(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_TRUE(actual.equal(expected)) << actual << " and " << expected;
}

TEST(RowsTest, UndefinedIsTheIdentity) {
  Rows rows;
  EXPECT_FALSE(rows.defined());
  EXPECT_FALSE(rows.tensor().defined());
  EXPECT_EQ(rows.size(), 0);
  rows.append(Rows());
  EXPECT_FALSE(rows.defined());
  rows.append(Rows(counting(0, 3)));
  rows.append(Rows());
  expect_equal(rows.tensor(), counting(0, 3));
}

TEST(RowsTest, ANumberIsOneRow) {
  Rows rows(at::full({}, 5, at::kLong));
  rows.append(Rows(at::full({}, 6, at::kLong)));
  expect_equal(rows.tensor(), at::arange(5, 7, at::kLong));
}

TEST(RowsTest, GrowInFewAllocations) {
  Rows rows;
  std::set<const void*> buffers;
  for (int i = 0; i < 10000; ++i) {
    rows.append(Rows(counting(i, i + 1)));
    buffers.insert(rows.tensor().const_data_ptr());
  }
  expect_equal(rows.tensor(), counting(0, 10000));
  EXPECT_LE(buffers.size(), 9);
}

TEST(RowsTest, TakeOneBatchLargerThanTheirRoom) {
  Rows rows(counting(0, 1));
  rows.append(Rows(counting(1, 1000)));
  rows.append(Rows(counting(1000, 1001)));
  expect_equal(rows.tensor(), counting(0, 1001));
}

TEST(RowsTest, NeverWriteToTheCallersTensor) {
  const at::Tensor first = counting(0, 3);
  const at::Tensor second = counting(3, 5);
  Rows rows;
  rows.append(Rows(first));
  rows.append(Rows(second));
  expect_equal(first, counting(0, 3));
  first.zero_();
  second.zero_();
  expect_equal(rows.tensor(), counting(0, 5));

  const at::Tensor third = counting(0, 3);
  Rows aliased(third);
  aliased.append(Rows(counting(3, 4)));
  expect_equal(third, counting(0, 3));
  third.zero_();
  expect_equal(aliased.tensor(), counting(0, 4));
}

TEST(RowsTest, LaterRowsDoNotShowInEarlierValues) {
  Rows rows;
  rows.append(Rows(counting(0, 3)));
  const at::Tensor value = rows.tensor();
  rows.append(Rows(counting(3, 6)));
  expect_equal(value, counting(0, 3));
}

TEST(RowsTest, CopiesGoTheirOwnWays) {
  Rows rows;
  rows.append(Rows(counting(0, 3)));
  Rows copy = rows;
  rows.append(Rows(counting(3, 5)));
  copy.append(Rows(counting(7, 9)));
  expect_equal(rows.tensor(), counting(0, 5));
  expect_equal(copy.tensor(), at::cat({counting(0, 3), counting(7, 9)}));
  rows = copy;
  copy.append(Rows(counting(0, 1)));
  rows.append(Rows(counting(9, 10)));
  expect_equal(rows.tensor(), at::cat({counting(0, 3), counting(7, 10)}));
}

TEST(RowsTest, RefuseRowsOfAnotherKind) {
  Rows rows(at::zeros({2, 3}));
  const auto message = [&](const at::Tensor& other) {
    return testkit::refusal_of(
        [&] { rows.check_append(Rows(other), "Metric", "preds"); });
  };
  EXPECT_EQ(message(at::zeros({3, 2})),
            "Metric: state 'preds' holds rows of Float on cpu with sizes [*, "
            "3], got Float on cpu with sizes [*, 2]");
  EXPECT_THAT(message(at::zeros({2})), HasSubstr("with sizes [*]"));
  EXPECT_THAT(message(at::zeros({2, 3, 1})), HasSubstr("[*, 3, 1]"));
  EXPECT_THAT(message(at::zeros({2, 3}, at::kDouble)), HasSubstr("got Double"));
  EXPECT_EQ(message(at::zeros({7, 3})), "nothing");
  EXPECT_EQ(rows.size(), 2);
}

TEST(RowsTest, EmptyOnesKeepTheirKind) {
  Rows rows;
  rows.append(Rows(at::empty({0, 3}, at::kInt)));
  ASSERT_TRUE(rows.defined());
  EXPECT_EQ(rows.tensor().sizes(), (c10::IntArrayRef{0, 3}));
  EXPECT_EQ(rows.tensor().scalar_type(), at::kInt);
  rows.append(Rows(at::ones({2, 3}, at::kInt)));
  rows.append(Rows(at::empty({0, 3}, at::kInt)));
  expect_equal(rows.tensor(), at::ones({2, 3}, at::kInt));
}

TEST(RowsTest, TakeRowsInAnyLayout) {
  const at::Tensor wide = counting(0, 12).reshape({3, 4}).t();
  const at::Tensor complex = wide.to(at::kComplexDouble).conj();
  Rows rows;
  rows.append(Rows(wide));
  rows.append(Rows(wide.slice(0, 0, 4, 2)));
  expect_equal(rows.tensor(), at::cat({wide, wide.slice(0, 0, 4, 2)}));
  Rows conjugated;
  conjugated.append(Rows(complex));
  conjugated.append(Rows(complex));
  EXPECT_TRUE(conjugated.tensor().equal(at::cat({complex, complex})));
}

TEST(RowsTest, KeepGraphs) {
  at::Tensor x = counting(3, 5).set_requires_grad(true);
  Rows rows;
  rows.append(Rows(counting(0, 3)));
  rows.append(Rows(x.mul(1)));
  rows.append(Rows(counting(5, 6)));
  EXPECT_TRUE(rows.requires_grad());
  EXPECT_EQ(rows.size(), 6);
  expect_equal(rows.tensor().detach(), counting(0, 6));
  rows.tensor().mul(counting(0, 6)).sum().backward();
  expect_equal(x.grad(), counting(3, 5));

  Rows plain = rows.detach();
  EXPECT_FALSE(plain.requires_grad());
  plain.append(Rows(counting(6, 7)));
  expect_equal(plain.tensor(), counting(0, 7));
  expect_equal(rows.tensor().detach(), counting(0, 6));
}

TEST(RowsTest, LargeBatchesAreCopiedByAllThreads) {
  // More bytes than three threads have in whole megabytes.
  const at::Tensor batch = counting(0, 1'000'003);
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    Rows rows;
    rows.append(Rows(counting(0, 5)));
    rows.append(Rows(batch));
    expect_equal(rows.tensor(), at::cat({counting(0, 5), batch}));
  }
  at::set_num_threads(1);
}

TEST(RowsTest, GrowAfterInferenceMode) {
  Rows rows;
  {
    const c10::InferenceMode inference;
    rows.append(Rows(counting(0, 4).reshape({2, 2})));
  }
  rows.append(Rows(counting(4, 8).reshape({2, 2}).t()));
  expect_equal(rows.tensor(), at::cat({counting(0, 4).reshape({2, 2}),
                                       counting(4, 8).reshape({2, 2}).t()}));
}

TEST(RowsTest, CanBeUsedAfterAMove) {
  Rows rows;
  rows.append(Rows(counting(0, 3)));
  const Rows moved = std::move(rows);
  rows = Rows();
  rows.append(Rows(counting(5, 6)));
  expect_equal(rows.tensor(), counting(5, 6));
  expect_equal(moved.tensor(), counting(0, 3));
}

}  // namespace
}  // namespace tally

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "tally/metrics/nominal/nominal.h"
#include "tally/tests/testing/refusal.h"

namespace tally {
namespace {

using ::tally::testkit::refusal_of;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

template <class M>
double value(const at::Tensor& preds, const at::Tensor& target) {
  const M metric;
  return metric.evaluate(metric.observe(preds, target)).template item<double>();
}

template <class Matrix, class Single>
void check_matrix() {
  at::Tensor data = at::randint(4, {200, 5}, at::kLong).to(at::kFloat);
  data.select(1, 3).copy_(data.select(1, 1));
  data.slice(0, 10, 30).select(1, 0).fill_(kNaN);
  data.slice(0, 20, 60).select(1, 2).fill_(kNaN);
  const Matrix matrix;
  const at::Tensor values = matrix.evaluate(matrix.observe(data));
  ASSERT_EQ(values.sizes(), (at::IntArrayRef{5, 5}));
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) {
      const double expected =
          i == j ? 1 : value<Single>(data.select(1, i), data.select(1, j));
      EXPECT_NEAR(values[i][j].item<double>(), expected, 1e-14)
          << i << ", " << j;
    }
  }
}

TEST(AssociationMatrixTest, HoldsTheValueOfEachPair) {
  check_matrix<CramersVMatrix, CramersV>();
  check_matrix<TschuprowsTMatrix, TschuprowsT>();
  check_matrix<PearsonsContingencyCoefficientMatrix,
               PearsonsContingencyCoefficient>();
  check_matrix<TheilsUMatrix, TheilsU>();
}

TEST(AssociationMatrixTest, GrowsWithCategoriesNotWithRows) {
  TheilsUMatrix matrix;
  TheilsUMatrix at_once;
  const at::Tensor data = at::randint(3, {6400, 4}, at::kLong);
  at_once.update(data);
  for (std::int64_t i = 0; i < 100; ++i) {
    matrix.update(data.narrow(0, 64 * i, 64));
  }
  // 6 pairs of 9 cells.
  EXPECT_EQ(at_once.state()["cells"].size(0), 54);
  EXPECT_LT(matrix.state()["cells"].size(0), 350);
  EXPECT_TRUE(matrix.compute().equal(at_once.compute()));
  EXPECT_EQ(TheilsUMatrix().state_key(), CramersVMatrix().state_key());
}

TEST(AssociationMatrixTest, OfColumnsThatNeverMeetIsNaN) {
  const at::Tensor data =
      at::tensor({0.f, kNaN, 1.f, kNaN, kNaN, 0.f, kNaN, 1.f}).view({4, 2});
  CramersVMatrix matrix;
  EXPECT_EQ(matrix.compute().sizes(), (at::IntArrayRef{0, 0}));
  matrix.update(data);
  const at::Tensor values = matrix.compute();
  EXPECT_TRUE(std::isnan(values[0][1].item<double>()));
  EXPECT_EQ(values[1][1].item<double>(), 1);
  EXPECT_EQ(matrix.state()["present"][0].item<std::int64_t>(), 2);
}

TEST(AssociationMatrixTest, RefusesWhatIsNoCategory) {
  TheilsUMatrix matrix;
  matrix.update(at::zeros({3, 2}));
  EXPECT_EQ(refusal_of([&] {
              matrix.update(at::ones({3, 2}).div(2));
            }),
            "expected whole numbers as categories in column 0 of data, got 0.5 "
            "at position 0 (TheilsUMatrix)");
  EXPECT_EQ(refusal_of([&] { matrix.update(at::zeros({3})); }),
            "expected data of shape [N, V], V at least 1, got [3] "
            "(TheilsUMatrix)");
  EXPECT_THAT(refusal_of([&] {
                matrix.update(at::zeros({3, 3}));
              }),
              HasSubstr("state 'present' holds Long [2]"));
  EXPECT_EQ(matrix.update_count(), 1);
}

TEST(AssociationMatrixTest, RefusesAStateThatIsNone) {
  ColumnPairs::State state;
  state.cells = Rows(at::zeros({2, 3}, at::kLong));
  const TheilsUMatrix matrix;
  EXPECT_THAT(refusal_of([&] { matrix.evaluate(state); }),
              HasSubstr("expected cells of int64 [K, 4] in the state"));
  state.cells = Rows(at::ones({1, 4}, at::kLong));
  EXPECT_EQ(refusal_of([&] { matrix.evaluate(state); }),
            "expected pairs of 0 columns in the state, got 1");
  state.present = at::ones({2}, at::kLong);
  matrix.evaluate(state);
  state.cells = Rows(at::ones({1, 4}, at::kLong).mul(2));
  EXPECT_EQ(refusal_of([&] { matrix.evaluate(state); }),
            "expected pairs of 2 columns in the state, got 2");
}

}  // namespace
}  // namespace tally

#include "tally/metrics/tables/contingency.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tally/metrics/tables/information.h"

namespace tally::internal::tables {
namespace {

using ::testing::ElementsAre;

Contingency table_of(const std::vector<std::int64_t>& cells) {
  return contingency_of(at::tensor(cells, at::kLong).view({-1, 3}));
}

TEST(ContingencyTest, HasSumsByPlace) {
  const Contingency table =
      table_of({7, 90, 2, -4, 90, 1, 7, -90, 5, 7, 90, 3});
  EXPECT_THAT(table.rows, ElementsAre(1, 10));
  EXPECT_THAT(table.columns, ElementsAre(5, 6));
  EXPECT_EQ(table.total, 11);
  ASSERT_EQ(table.cells.size(), 3u);
  EXPECT_EQ(table.cells[2].row, 1u);
  EXPECT_EQ(table.cells[2].column, 1u);
  EXPECT_EQ(table.cells[2].count, 5);
  EXPECT_FALSE(table.rows_decide());
  EXPECT_TRUE(table_of({1, 5, 2, 2, 5, 9}).rows_decide());
  EXPECT_FALSE(table_of({1, 5, 2, 2, 5, 9}).columns_decide());
}

TEST(ContingencyTest, OfNothingIsEmpty) {
  const Contingency table = contingency_of(PairCounts());
  EXPECT_EQ(table.total, 0);
  EXPECT_TRUE(table.cells.empty());
}

TEST(InformationTest, OfASingleLabelIsExactlyZero) {
  // In floating point 10 * (1 / 10 of all) may not be all of it.
  for (const std::int64_t count : {1, 3, 10, 1'000'003}) {
    EXPECT_EQ(entropy({count}, count), 0);
    EXPECT_EQ(mutual_information(table_of({4, 4, count})), 0);
    EXPECT_EQ(mutual_information(table_of({4, 4, count, 4, 5, 7})), 0);
  }
}

TEST(InformationTest, OfOneThatDecidesTheOtherIsItsEntropy) {
  const Contingency table = table_of({0, 1, 30, 1, 2, 50, 2, 2, 20});
  EXPECT_DOUBLE_EQ(mutual_information(table),
                   entropy(table.columns, table.total));
  EXPECT_DOUBLE_EQ(entropy({50, 50}, 100), std::log(2.0));
}

TEST(InformationTest, LogarithmsBeyondTheTableAreTheSame) {
  const Logarithms log(10);
  for (const std::int64_t n : {1, 9, 10, 5000, 1 << 30}) {
    EXPECT_EQ(log(n), std::log(static_cast<double>(n)));
  }
}

}  // namespace
}  // namespace tally::internal::tables

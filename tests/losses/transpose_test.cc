#include "tally/losses/common/transpose.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tally::losses::internal {
namespace {

template <class T>
void expect_transposed(std::int64_t rows, std::int64_t columns) {
  const std::int64_t from_stride = columns + 3, to_stride = rows + 2;
  std::vector<T> from(static_cast<std::size_t>(rows * from_stride));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i);
  std::vector<T> to(static_cast<std::size_t>(columns * to_stride), T(-1));
  std::vector<T> expected = to;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      expected[j * to_stride + i] = from[i * from_stride + j];
    }
  }
  transpose(from.data(), from_stride, rows, columns, to.data(), to_stride);
  EXPECT_EQ(to, expected) << rows << " x " << columns;
}

// Tiles that fill the matrix, that reach over its end, and that do not fit.
TEST(TransposeTest, MovesEveryNumberAndNoOther) {
  for (std::int64_t rows = 0; rows <= 35; ++rows) {
    for (const std::int64_t columns : {0, 1, 2, 3, 4, 5, 7, 8, 16, 21}) {
      expect_transposed<float>(rows, columns);
      expect_transposed<double>(rows, columns);
    }
  }
}

}  // namespace
}  // namespace tally::losses::internal

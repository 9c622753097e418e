#pragma once

#include <cstdint>

/// The passes of nearest(), with the widest vectors of the machine. T is float
/// or double.
namespace tally::losses::internal {

/// Sums of squares of each row, in float64, in any order.
void sum_squares(const float* rows, std::int64_t count, std::int64_t dims,
                 double* sums);
void sum_squares(const double* rows, std::int64_t count, std::int64_t dims,
                 double* sums);

/// Subtracts `less` from each row of `values` and writes the index of its
/// largest value; -1 if another value is within the row's margin of it, or if
/// all are NaN.
template <class T>
void find_leads(T* values, const T* less, std::int64_t rows, std::int64_t count,
                const double* margins, std::int64_t* found);

/// Size of blocks whose largest value is found first.
inline constexpr std::int64_t kValuesInBlock = 256;

}  // namespace tally::losses::internal

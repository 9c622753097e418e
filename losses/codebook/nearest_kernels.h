#pragma once

#include <cstdint>

/// The passes of nearest(), in the widest vectors that the machine has. T is
/// float or double.
namespace tally::losses::internal {

/// Of each row, in float64, added up in any order.
void sum_squares(const float* rows, std::int64_t count, std::int64_t dims,
                 double* sums);
void sum_squares(const double* rows, std::int64_t count, std::int64_t dims,
                 double* sums);

/// Subtracts `less` from each row of `values` and writes the place of its
/// largest value; -1 if another one is within the row's margin of it, or if all
/// are NaN.
template <class T>
void find_leads(T* values, const T* less, std::int64_t rows, std::int64_t count,
                const double* margins, std::int64_t* found);

/// Of values, whose largest one is known at first.
inline constexpr std::int64_t kValuesInBlock = 256;

}  // namespace tally::losses::internal

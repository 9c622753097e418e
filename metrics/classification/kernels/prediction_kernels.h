#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

/// The inner loops from scores to predicted classes, with the widest vectors of
/// the machine.
namespace tally::internal::classification {

/// The minimum number of classes for which predict_rows pays off.
constexpr std::int64_t kLeastVectorClasses = 4;

/// The class with the largest score of each row [classes], the first one if
/// tied, or the target if that is among the top_k; kNanClass for a row with a
/// NaN. Invalid targets are never among the top_k. On several threads if there
/// is much to do.
void predict_rows(const float* scores, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                  std::int64_t* predicted);
void predict_rows(const double* scores, const std::int64_t* targets,
                  std::int64_t rows, std::int64_t classes, std::int64_t top_k,
                  std::int64_t* predicted);

/// The same without targets for the first `columns` columns of scores [classes,
/// stride], of any floating-point type.
void predict_columns(const void* scores, c10::ScalarType type,
                     std::int64_t classes, std::int64_t stride,
                     std::int64_t columns, std::int64_t* predicted);

}  // namespace tally::internal::classification

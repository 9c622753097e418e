#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/classification/counts/multiclass_confusion.h"
#include "tally/metrics/options.h"

namespace tally {

/// The divisor of the counts of a confusion matrix.
enum class Normalize {
  kNone,  ///< nothing
  kTrue,  ///< the sum of their row: fractions of the targets of a class
  kPred,  ///< the sum of their column: fractions of the predictions of a class
  kAll,   ///< the total
};

template <>
struct EnumNames<Normalize> {
  static constexpr const char* kNames[] = {"none", "true", "pred", "all"};
};

namespace internal::classification {

/// The confusion matrix [classes, classes] of a state, of zeros if it is empty:
/// int64 counts, or float64 if weighted or normalized. NaN if a NaN was
/// counted.
at::Tensor confusion_matrix_of(const MulticlassConfusion::State& state,
                               std::int64_t classes, Normalize normalize);

}  // namespace internal::classification
}  // namespace tally

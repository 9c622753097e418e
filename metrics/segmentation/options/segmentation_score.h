#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/results.h"

namespace tally {

/// The result of segmentation metrics. In a collection the metric "dice" has
/// the value "dice", and with count_cases "dice.cases".
struct SegmentationScore {
  at::Tensor value;
  /// Of the shape of `value`, int64: the number of cases that it is the mean
  /// of. Undefined without count_cases.
  at::Tensor cases;

  /// The value, for code that wants a tensor or a number.
  operator at::Tensor() const { return value; }
  template <class T>
  T item() const {
    return value.item<T>();
  }

  void visit(ResultParts& parts) {
    parts("", value);
    if (cases.defined()) parts("cases", cases);
  }
};

namespace internal::segmentation {

/// The same, without `cases` unless they are counted.
inline SegmentationScore with_cases(SegmentationScore score, bool counted) {
  if (!counted) score.cases = at::Tensor();
  return score;
}

}  // namespace internal::segmentation
}  // namespace tally

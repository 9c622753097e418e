#include "tally/metrics/classification/counts/confusion_values.h"

#include <ATen/ops/full.h>

#include "tally/metrics/common/constants.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal::classification {

at::Tensor confusion_matrix_of(const MulticlassConfusion::State& state,
                               std::int64_t classes, Normalize normalize) {
  at::Tensor counts = state.matrix();
  if (state.sums.defined()) {
    counts = counts.defined() ? counts.add(state.sums) : state.sums;
  }
  if (!counts.defined()) counts = fresh_zeros({classes, classes}, at::kLong);
  if (state.nans.value() > 0) {
    return at::full({classes, classes}, kNaN,
                    counts.options().dtype(at::kDouble));
  }
  at::Tensor divisors;
  switch (normalize) {
    case Normalize::kNone:
      return counts;
    case Normalize::kTrue:
      divisors = counts.sum(1, /*keepdim=*/true);
      break;
    case Normalize::kPred:
      divisors = counts.sum(0, /*keepdim=*/true);
      break;
    case Normalize::kAll:
      divisors = counts.sum();
      break;
  }
  // Where the divisor is 0, so are the counts.
  return counts.to(at::kDouble).div(divisors.masked_fill(divisors.eq(0), 1));
}

}  // namespace tally::internal::classification

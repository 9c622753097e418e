#pragma once

#include <c10/core/ScalarType.h>

namespace tally::sync {

/// How the ranks' tensors are reduced. kProduct exists only to be rejected with
/// a suggestion: its gradient needs every factor, which requires a gather.
enum class Reduction { kSum, kMean, kMin, kMax, kProduct };

/// The name, for example "mean".
const char* to_string(Reduction reduction) noexcept;

/// The dtype for accumulating sums of this dtype: float32 or wider, int64 for
/// integers and bool. Undefined for dtypes without sums.
at::ScalarType accumulate_dtype(at::ScalarType dtype);

}  // namespace tally::sync

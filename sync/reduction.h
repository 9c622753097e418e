#pragma once

#include <c10/core/ScalarType.h>

namespace tally::sync {

/// How the ranks' tensors become one. kProduct is only there to be refused with
/// a way out: its gradient needs every factor, so that it is a gather.
enum class Reduction { kSum, kMean, kMin, kMax, kProduct };

/// The name, for example "mean".
const char* to_string(Reduction reduction) noexcept;

/// What sums of this dtype are kept in: float32 or wider, int64 for integers
/// and bool. Undefined for dtypes without sums.
at::ScalarType accumulate_dtype(at::ScalarType dtype);

}  // namespace tally::sync

#pragma once

namespace tally::sync {

/// How the ranks' tensors become one. kProduct is only there to be refused with
/// a way out: its gradient needs every factor, so that it is a gather.
enum class Reduction { kSum, kMean, kMin, kMax, kProduct };

/// The name, for example "mean".
const char* to_string(Reduction reduction) noexcept;

}  // namespace tally::sync

#pragma once

#include <c10/util/ArrayRef.h>

#include <vector>

#include "tally/state/state.h"

/// What a value is without one part of its data each.
namespace tally::internal {

/// For each state, all others merged into `empty`; behind them, all together.
std::vector<AnyState> without_each(const AnyState& empty,
                                   c10::ArrayRef<AnyState> states,
                                   const char* owner);

/// (K - 1) / K sum (v - mean v)^2 over the K values; NaN below two.
double jackknife_variance(const std::vector<double>& without);

}  // namespace tally::internal

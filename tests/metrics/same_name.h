#pragma once

#include <memory>

#include "tally/metrics/metric.h"

namespace tally {

/// The sum of the inputs, from an observer called "Seen".
std::unique_ptr<Metric> make_sum_of_seen();
/// Their largest, from another observer of that name, in another file.
std::unique_ptr<Metric> make_largest_seen();
/// Another one there, whose state has the same fields as that of the sum.
std::unique_ptr<Metric> make_squares_of_seen();

}  // namespace tally

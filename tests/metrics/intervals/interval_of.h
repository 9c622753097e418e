#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tally/metrics/intervals/interval_metric.h"

namespace tally::testkit {

inline double number(const at::Tensor& tensor) { return tensor.item<double>(); }

/// That of a metric of one batch.
template <class... Args>
Interval interval_of(OwnedMetric metric, const IntervalOptions& options,
                     const Args&... args) {
  IntervalMetric wrapped(std::move(metric), options);
  wrapped.update(args...);
  return wrapped.compute().value();
}

/// No interval, and why.
inline void expect_no_ends(const Interval& interval) {
  EXPECT_TRUE(std::isnan(number(interval.low))) << interval.low;
  EXPECT_TRUE(std::isnan(number(interval.high))) << interval.high;
  EXPECT_FALSE(interval.flags.empty());
}

}  // namespace tally::testkit

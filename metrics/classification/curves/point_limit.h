#pragma once

#include <c10/util/Exception.h>
#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/metric_options.h"

namespace tally {

/// `Base`, options of curves, and how many of their points are returned.
template <class Base, class Derived>
class PointLimitOptions : public Base {
 public:
  using Base::Base;

  /// About how many points of a curve are returned, at least 2: none that is
  /// dropped is further than 1 / max_points in either axis from the line
  /// through those that stay, among which are the first and the last. Of a ROC
  /// curve at most max_points + 1 stay; of a precision-recall curve, which may
  /// rise and fall at any recall, at most twice max_points and 4 more. Default:
  /// all points.
  TALLY_INHERITED_ARG(Derived, std::optional<std::int64_t>,
                      max_points) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    Base::visit(v);
    v("max_points", max_points_, OptionRole::kValue,
      "About how many points of a curve to return; none: all.");
  }
  void validate(const char* metric) const {
    Base::validate(metric);
    TORCH_CHECK_VALUE(!max_points_ || *max_points_ >= 2, metric,
                      ": expected max_points of at least 2, got ",
                      *max_points_);
  }
};

namespace internal::classification {

/// The points of a curve, by number.
using PointAt = c10::function_ref<std::pair<double, double>(std::size_t)>;

/// Which points of a curve to keep, in order, so that all others are within
/// 1 / limit in both axes of the line between those; the first and the last are
/// kept.
///
/// Of a curve whose x and y only rise, from 0 to 1 at most: at most limit + 1.
std::vector<std::size_t> kept_of_rising(std::size_t size, std::int64_t limit,
                                        PointAt at);
/// Of a curve whose x only rises or only falls, between 0 and 1, whether it is
/// drawn as a line or as steps: at most 2 * limit + 4. Points of which y is NaN
/// may only be the first ones but one, or the last ones but one.
std::vector<std::size_t> kept_of_any(std::size_t size, std::int64_t limit,
                                     PointAt at);

/// The values with these numbers.
std::vector<double> selected(const std::vector<double>& values,
                             const std::vector<std::size_t>& numbers);

}  // namespace internal::classification
}  // namespace tally

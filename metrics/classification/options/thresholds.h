#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/options.h"

namespace tally {

/// The thresholds of a curve: every score that occurs (the default), a number
/// of equally spaced thresholds i / (count - 1) from 0 to 1, or an ascending
/// list in [0, 1]:
///
///     BinaryAUROCOptions().thresholds(200)
///     BinaryAUROCOptions().thresholds({0.1, 0.5, 0.9})
class Thresholds {
 public:
  Thresholds() = default;
  template <class Count, std::enable_if_t<std::is_integral_v<Count>, int> = 0>
  Thresholds(Count count) : value_(static_cast<std::int64_t>(count)) {}
  Thresholds(std::vector<double> list) : value_(std::move(list)) {}
  Thresholds(std::initializer_list<double> list)
      : value_(std::vector<double>(list)) {}

  /// Whether curves are evaluated at every score.
  bool exact() const { return std::holds_alternative<std::monostate>(value_); }
  /// Throws c10::ValueError, starting with `owner`, unless this is none, a
  /// count of at least 2, or a list as described above.
  void validate(const char* owner) const;

  /// For OptionVisitor.
  CountOrList& value() { return value_; }
  const CountOrList& value() const { return value_; }

 private:
  CountOrList value_;
};

namespace internal::classification {

/// Thresholds prepared for binning scores. A score's bin is the number of
/// thresholds t with score >= t, compared in float64.
class ThresholdGrid {
 public:
  explicit ThresholdGrid(const Thresholds& thresholds);

  /// 0 means exact curves, which need no bins.
  std::int64_t size() const { return size_; }
  double threshold(std::int64_t i) const { return edges_[i]; }
  /// Ascending, followed by infinity.
  const double* edges() const { return edges_.data(); }
  /// Whether thresholds are i / (size() - 1).
  bool uniform() const { return uniform_; }

  /// REQUIRES: score is not NaN; it may be outside [0, 1].
  std::int64_t bucket(double score) const {
    if (!uniform_) {
      return std::upper_bound(edges_.begin(), edges_.end() - 1, score) -
             edges_.begin();
    }
    if (!(score >= 0)) return 0;
    if (score > 1) return size_;
    // Rounding of the product may cross a threshold.
    const double* edge = edges_.data();
    auto k = static_cast<std::int64_t>(score * scale_);
    k -= edge[k] > score;
    k += edge[k + 1] <= score;
    return k + 1;
  }
  /// The same for a tensor of any shape and device; size() for NaN.
  at::Tensor bucket(const at::Tensor& scores) const;

 private:
  std::vector<double> edges_;  // and +infinity
  std::int64_t size_ = 0;
  double scale_ = 0;
  bool uniform_ = false;
};

}  // namespace internal::classification
}  // namespace tally

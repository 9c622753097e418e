#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tally/metrics/average.h"

/// Computes values from counts, for binary, multiclass and multilabel metrics.
namespace tally {

namespace internal::classification {

/// The counts of one class or label, or of several together; sums of weights if
/// samples have weights.
struct ClassCounts {
  double tp = 0;
  double predicted = 0;
  double target = 0;
  double total = 0;
  double nans = 0;  // positions with a NaN, not included in the others

  double fp() const { return predicted - tp; }
  double fn() const { return target - tp; }
  double tn() const { return total - predicted - target + tp; }
  ClassCounts& operator+=(const ClassCounts& other);
};

/// Computes the value of a class; NaN excludes it from averages.
using ClassValue = c10::function_ref<double(const ClassCounts&)>;

/// A quotient, or `otherwise` if it divides by 0.
inline double divide(double numerator, double denominator, double otherwise) {
  return denominator == 0 ? otherwise : numerator / denominator;
}

/// c10::ValueError unless zero_division is 0, 1 or NaN.
void check_zero_division(const char* metric, double zero_division);

/// Throws c10::ValueError unless kGlobal, which average samples requires.
void check_global(const char* metric, MultidimAverage multidim_average);

/// The contents of one row of a state.
struct CountsRow {
  c10::ArrayRef<ClassCounts> classes;
  double distance = 0;

  ClassCounts sum() const;
  /// NaN if nothing or a NaN was counted.
  double micro(ClassValue value,
               std::optional<std::int64_t> left_out = std::nullopt) const;
  double macro(bool weighted, bool occurring_only,
               std::optional<std::int64_t> left_out, ClassValue value) const;
};

/// The rows of a state: integers, sums of weights, or both, to be added.
///
///     kElements: tp, predicted, target, total, nans, each by label
///     kClasses:  tp, predicted, target, each by class, then nans, distance
class CountRows {
 public:
  enum class Layout { kElements, kClasses };
  static std::int64_t width(Layout layout, std::int64_t classes) {
    return layout == Layout::kElements ? 5 * classes : 3 * classes + 2;
  }

  /// The rows of samples, or (if not samplewise) a single row. Any may be
  /// undefined.
  CountRows(Layout layout, std::int64_t classes, bool samplewise,
            const at::Tensor& counts, const at::Tensor& sums);
  /// One row of counts in memory.
  CountRows(Layout layout, std::int64_t classes, const std::int64_t* counts,
            const at::Tensor& sums);

  std::int64_t classes() const { return classes_; }
  bool is_weighted() const { return sums_ != nullptr; }
  /// Whether any NaN was counted.
  bool has_nans() const;

  /// float64 [rows (samplewise), sizes...], each row filled by `fill`.
  at::Tensor values(
      at::IntArrayRef sizes,
      c10::function_ref<void(const CountsRow&, double*)> fill) const;
  /// A value for each row.
  at::Tensor values(c10::function_ref<double(const CountsRow&)> value) const;
  /// The averages of the classes' values; with kNone one per class. A class may
  /// be excluded from the means.
  at::Tensor averages(
      Average average, ClassValue value,
      std::optional<std::int64_t> left_out = std::nullopt) const;
  /// The mean of the rows' values except NaN, with weights [rows] (undefined:
  /// all 1).
  at::Tensor mean_over_rows(ClassValue value,
                            const at::Tensor& weights = {}) const;

 private:
  void own_sums(const at::Tensor& sums);
  void check_width(const at::Tensor& tensor) const;
  double read(std::int64_t index) const {
    return (counts_ ? static_cast<double>(counts_[index]) : 0) +
           (sums_ ? sums_[index] : 0);
  }
  CountsRow read_row(std::int64_t row, std::vector<ClassCounts>& into) const;

  Layout layout_;
  std::int64_t classes_;
  bool samplewise_ = false;
  std::int64_t rows_ = 1;
  const std::int64_t* counts_ = nullptr;
  const double* sums_ = nullptr;
  at::Tensor counts_on_cpu_;
  at::Tensor sums_on_cpu_;
  c10::Device device_ = c10::kCPU;
};

}  // namespace internal::classification
}  // namespace tally

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/options.h"
#include "tally/metrics/tables/label_range.h"

namespace tally {

namespace internal::nominal {

/// c10::ValueError unless the value is a whole number within int64.
void check_replace_value(const char* metric, double value);

}  // namespace internal::nominal

/// What metrics of categories do with missing values, which are NaN.
enum class NominalNanStrategy {
  kDrop,      ///< drop the samples, or pairs, that lack one
  kReplace,   ///< take `nan_replace_value` as the category
  kCategory,  ///< missing values are a category of their own
};

template <>
struct EnumNames<NominalNanStrategy> {
  static constexpr const char* kNames[] = {"drop", "replace", "category"};
};

/// What all metrics of categories can be told.
template <class Self>
struct CategoryOptions {
  /// Default: kDrop; TorchMetrics replaces, and so takes a missing value for
  /// the category 0. NanPolicy::kError refuses NaN and kIgnore drops it,
  /// whatever this says.
  TALLY_INHERITED_ARG(Self, NominalNanStrategy,
                      nan_strategy) = NominalNanStrategy::kDrop;
  /// The category that kReplace puts in the place of NaN, a whole number.
  TALLY_INHERITED_ARG(Self, double, nan_replace_value) = 0;

 public:
  void visit(OptionVisitor& v) {
    v("nan_strategy", nan_strategy_, internal::words::kNanStrategy);
    v("nan_replace_value", nan_replace_value_, "Category that replaces NaN.");
  }
  /// c10::ValueError for values that are not as said above.
  void validate(const char* metric) const {
    internal::nominal::check_replace_value(metric, nan_replace_value_);
  }
  std::vector<std::string> without_effect() const {
    if (nan_replace_value_ == 0 ||
        nan_strategy_ == NominalNanStrategy::kReplace) {
      return {};
    }
    return {"nan_replace_value has no effect without nan_strategy replace"};
  }
};

/// What metrics of two categorical variables can be told besides.
template <class Self>
struct CategoryPairOptions : CategoryOptions<Self> {
  CategoryPairOptions() = default;
  template <class Count, RequireCount<Count> = 0>
  CategoryPairOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  /// Categories are 0 to num_classes - 1; others are errors. Default: none, any
  /// whole numbers are categories.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      num_classes) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_,
      "Categories are 0 to num_classes - 1; none: any whole numbers.");
    CategoryOptions<Self>::visit(v);
  }
  void validate(const char* metric) const {
    internal::tables::check_num_classes(metric, num_classes_);
    CategoryOptions<Self>::validate(metric);
  }
};

/// Options of PearsonsContingencyCoefficient and TheilsU.
///
/// Example:
///     TheilsU u(TheilsUOptions().nan_strategy(NominalNanStrategy::kCategory));
struct TheilsUOptions : CategoryPairOptions<TheilsUOptions> {
  using CategoryPairOptions::CategoryPairOptions;
};
using PearsonsContingencyCoefficientOptions = TheilsUOptions;

/// Options of CramersV and TschuprowsT.
///
/// Example: `CramersV v(CramersVOptions().bias_correction(false));`
struct CramersVOptions : CategoryPairOptions<CramersVOptions> {
  using CategoryPairOptions::CategoryPairOptions;
  /// Bergsma's correction of the bias of small samples.
  TALLY_INHERITED_ARG(CramersVOptions, bool, bias_correction) = true;
  /// Yates's correction for continuity of 2 x 2 tables: counts are moved
  /// toward those expected, by 1/2 at most.
  TALLY_INHERITED_ARG(CramersVOptions, bool, yates) = false;

 public:
  void visit(OptionVisitor& v) {
    CategoryPairOptions::visit(v);
    v("bias_correction", bias_correction_, OptionRole::kValue,
      internal::words::kBiasCorrection);
    v("yates", yates_, OptionRole::kValue, internal::words::kYates);
  }
};
using TschuprowsTOptions = CramersVOptions;

/// Options of PearsonsContingencyCoefficientMatrix and TheilsUMatrix.
///
/// Example:
///     TheilsUMatrix matrix(
///         TheilsUMatrixOptions().nan_strategy(NominalNanStrategy::kCategory));
struct TheilsUMatrixOptions : CategoryOptions<TheilsUMatrixOptions> {
  Dimensions dimensions() const {
    return {Dimension::kColumn, Dimension::kColumn};
  }
};
using PearsonsContingencyCoefficientMatrixOptions = TheilsUMatrixOptions;

/// Options of CramersVMatrix and TschuprowsTMatrix, as in CramersVOptions.
///
/// Example: `CramersVMatrix v(CramersVMatrixOptions().bias_correction(false));`
struct CramersVMatrixOptions : CategoryOptions<CramersVMatrixOptions> {
  TALLY_INHERITED_ARG(CramersVMatrixOptions, bool, bias_correction) = true;
  TALLY_INHERITED_ARG(CramersVMatrixOptions, bool, yates) = false;

 public:
  void visit(OptionVisitor& v) {
    CategoryOptions::visit(v);
    v("bias_correction", bias_correction_, OptionRole::kValue,
      internal::words::kBiasCorrection);
    v("yates", yates_, OptionRole::kValue, internal::words::kYates);
  }
  Dimensions dimensions() const {
    return {Dimension::kColumn, Dimension::kColumn};
  }
};
using TschuprowsTMatrixOptions = CramersVMatrixOptions;

}  // namespace tally

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/options.h"

namespace tally {

/// What preds and target of segmentation metrics are.
enum class SegmentationFormat {
  kOneHot,  ///< both [N, C, ...]: a mask for each class; preds: or scores
  kIndex,   ///< both [N, ...]: the class of each place
  kMixed,   ///< one of them [N, C, ...], the other one [N, ...]
};

template <>
struct EnumNames<SegmentationFormat> {
  static constexpr const char* kNames[] = {"one-hot", "index", "mixed"};
};

/// What a case is worth in which a class is neither predicted nor there.
enum class AbsentClass {
  kNan,   ///< it does not count; NaN if none does
  kZero,  ///< 0
  kOne,   ///< 1
};

template <>
struct EnumNames<AbsentClass> {
  static constexpr const char* kNames[] = {"nan", "zero", "one"};
};

/// What all segmentation metrics can be told.
template <class Self>
struct SegmentationOptions {
  explicit SegmentationOptions(bool include_background)
      : include_background_(include_background) {}

  /// Whether class 0 counts as well. A class that is alone always counts.
  TALLY_INHERITED_ARG(Self, bool, include_background);
  TALLY_INHERITED_ARG(Self, SegmentationFormat,
                      input_format) = SegmentationFormat::kOneHot;
  /// Default: kNan.
  TALLY_INHERITED_ARG(Self, AbsentClass, absent) = AbsentClass::kNan;
  /// Whether the result says how many cases counted, besides the value.
  TALLY_INHERITED_ARG(Self, bool, count_cases) = false;

 public:
  void visit(OptionVisitor& v) {
    v("include_background", include_background_, "Whether to include class 0.");
    v("input_format", input_format_,
      "Labels (index), one mask per class, or one of each.");
    v("count_cases", count_cases_, OptionRole::kValue,
      "Whether to return the number of cases as well.");
  }
  Dimensions dimensions() const {
    // The only class there is counts.
    const std::optional<std::int64_t> classes =
        static_cast<const Self&>(*this).num_classes();
    return {include_background_ || classes == 1 ? Dimension::kClass
                                                : Dimension::kForeground};
  }
};

namespace internal::segmentation {

/// c10::ValueError below 1.
void check_num_classes(const char* metric, std::int64_t num_classes);

/// c10::ValueError unless of 2 or 3 numbers, each above 0 and finite.
void check_spacing(const char* metric,
                   const std::optional<std::vector<double>>& spacing);

/// c10::ValueError for NaN.
void check_empty_penalty(const char* metric,
                         const std::optional<double>& empty_penalty);

/// How many classes count.
inline std::int64_t counted_classes(std::int64_t num_classes,
                                    bool include_background) {
  return include_background || num_classes == 1 ? num_classes : num_classes - 1;
}

/// What a case is worth in which a class is absent; NaN for kNan.
double value_of(AbsentClass absent);

}  // namespace internal::segmentation
}  // namespace tally

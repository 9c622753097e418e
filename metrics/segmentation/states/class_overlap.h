#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/options.h"
#include "tally/metrics/segmentation/inputs/class_masks.h"
#include "tally/metrics/segmentation/options/segmentation_options.h"
#include "tally/metrics/segmentation/options/segmentation_score.h"
#include "tally/state/fields.h"

namespace tally {

/// Over what overlaps are counted.
enum class AggregationLevel {
  kSamplewise,  ///< in each sample; the result is the mean over samples
  kGlobal,      ///< in all samples together
};

template <>
struct EnumNames<AggregationLevel> {
  static constexpr const char* kNames[] = {"samplewise", "global"};
};

/// Options of metrics over ClassOverlap. Those that agree in num_classes,
/// include_background, input_format and absent share one state in a collection.
/// `Count` is std::int64_t, or optional where inputs may say how many classes
/// there are.
template <class Self, class Count = std::int64_t>
struct OverlapOptions : SegmentationOptions<Self> {
  explicit OverlapOptions(Count num_classes)
      : SegmentationOptions<Self>(/*include_background=*/true),
        num_classes_(num_classes) {}

  /// Labels are 0 to num_classes - 1.
  TALLY_INHERITED_ARG(Self, Count, num_classes);

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      "Number of classes; none, for MeanIoU: as many as the inputs have.");
    SegmentationOptions<Self>::visit(v);
    v("absent", this->absent_, internal::words::kAbsent);
  }
  void validate(const char* metric) const {
    const std::optional<std::int64_t> count = num_classes_;
    if (count) internal::segmentation::check_num_classes(metric, *count);
  }
};

/// The state of metrics of overlaps: how many places of each class both inputs
/// have, preds have, target has; and, over samples, the sums of what is made of
/// these for each sample.
struct ClassOverlapState {
  std::int64_t samples = 0;
  std::int64_t nan_samples = 0;  // with NaN, if that propagates
  at::Tensor counts;             // int64 [3, C]
  at::Tensor sums;               // float64 [2 C + 6]: see OverlapScore
  at::Tensor cases;              // int64 [2 C + 6]: how many have a value

  void fields(Fields& f) {
    f("samples", samples)("nan_samples", nan_samples)("counts", counts);
    f("sums", sums)("cases", cases);
  }
};

namespace internal::segmentation {

/// What samples are scored by, after Dice and IoU of each class.
enum class OverlapScore {
  kMacroDice,
  kMicroDice,
  kWeightedDice,
  kMeanIoU,
  kSquareDice,  // generalized, with weights of squares
  kSimpleDice,  // generalized
};
constexpr std::int64_t kOverlapScores = 6;

/// By class, which is Dice or IoU.
enum class ClassScore { kDice, kIoU };

/// Scores of a state, or NaN: one, or those of all classes. `state` may be that
/// of no data; `classes` is how many there would be then.
SegmentationScore overlap_score(const ClassOverlapState& state,
                                AggregationLevel level, AbsentClass absent,
                                OverlapScore score);
SegmentationScore class_scores(const ClassOverlapState& state,
                               AggregationLevel level, AbsentClass absent,
                               ClassScore score, std::int64_t classes);

}  // namespace internal::segmentation

/// The observer of metrics of overlaps.
class ClassOverlap {
 public:
  static constexpr const char* kName = "ClassOverlap";
  static constexpr const auto& kInputs = internal::segmentation::kMaskInputs;
  static constexpr const char* kUnit = "image";
  using State = ClassOverlapState;

  template <class Options>
  ClassOverlap(const Options& options, const MetricOptions& metric_options)
      : format_{options.input_format(),
                std::optional<std::int64_t>(options.num_classes()).value_or(0),
                options.include_background(), metric_options.nan_policy()},
        absent_(options.absent()) {}

  State observe(const at::Tensor& preds, const at::Tensor& target) const;

 private:
  internal::segmentation::MaskFormat format_;
  AbsentClass absent_;
};

}  // namespace tally

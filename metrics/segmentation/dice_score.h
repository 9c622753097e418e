#pragma once

#include "tally/metrics/average.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/segmentation/states/class_overlap.h"

namespace tally {

/// Options of DiceScore.
///
/// Example:
///     DiceScore dice(DiceScoreOptions(5)
///                        .average(Average::kMicro)
///                        .input_format(SegmentationFormat::kIndex));
struct DiceScoreOptions : OverlapOptions<DiceScoreOptions> {
  /// The number of classes, at least 1.
  template <class Count, RequireCount<Count> = 0>
  DiceScoreOptions(Count num_classes)
      : OverlapOptions(static_cast<std::int64_t>(num_classes)) {}
  explicit DiceScoreOptions(internal::Unset) : OverlapOptions(0) {}

  /// kMacro: the mean over the classes. kWeighted: by how many places of the
  /// target have each.
  TORCH_ARG(Average, average) = Average::kMacro;
  TORCH_ARG(AggregationLevel,
            aggregation_level) = AggregationLevel::kSamplewise;

 public:
  void visit(OptionVisitor& v) {
    OverlapOptions::visit(v);
    v.first<kClassAverages>("average", average_, OptionRole::kValue,
                            internal::words::kAverage);
    v("aggregation_level", aggregation_level_, OptionRole::kValue,
      internal::words::kAggregationLevel);
  }
};

/// The Dice score: how much of what both segmentations cover they share.
///
///     2 |P and T| / (|P| + |T|), of the places of a class
///
/// update(preds, target): with SegmentationFormat::kIndex labels [N, ...] of
/// integers or bool; with kOneHot a mask of 0 and 1 for each class,
/// [N, C, ...], masks may overlap; with kMixed one of these and one of those.
/// Floating-point preds [N, C, ...] of more than one class are scores, of which
/// the largest is the label (the first of equal ones), so that each place has
/// one class. Probabilities of masks that may overlap, and those of one class,
/// have to be compared with a threshold first: `preds > 0.5`. Any number of
/// dimensions behind these.
/// Result: SegmentationScore, 0-dim, or with Average::kNone [C] (without the
/// background if that does not count); float64 in [0, 1]. kSamplewise: the mean
/// over the samples. A class that is in neither input of a sample is skipped
/// there, and in that sample's average; `absent` makes it 0 or 1. NaN where
/// nothing counted, also before any update. `cases`: how many samples counted.
/// State: that of ClassOverlap: counts and sums of scores, merged by addition.
/// NaN among scores: the result is NaN; NanPolicy::kIgnore skips the sample.
/// Errors: c10::IndexError for labels out of range, and masks that are not 0 or
/// 1; c10::TypeError for labels that are not integers; c10::ValueError for
/// floating-point preds of one class and floating-point masks as target, for
/// other shapes, and for NaN with NanPolicy::kError. Not differentiable.
/// Source: Dice 1945.
///
/// Example:
///     DiceScore dice(DiceScoreOptions(5).input_format(
///         SegmentationFormat::kIndex));
///     const at::Tensor masks = at::randint(0, 5, {4, 16, 16});
///     dice.update(masks, masks);
///     double value = dice.number();
class DiceScore final : public MetricOf<DiceScore, ClassOverlap,
                                        SegmentationScore, DiceScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "DiceScore";
  static constexpr MetricSummary kSummary{
      "Overlap of two segmentations, relative to their mean size.",
      "[0, 1]",
      "num_classes=5",
      "dice, dsc, sorensen-dice",
      R"(\frac{2 |A \cap B|}{|A| + |B|})",
      "Dice 1945"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SegmentationScore evaluate(const State& state) const;
};

extern template class MetricOf<DiceScore, ClassOverlap, SegmentationScore,
                               DiceScoreOptions>;

}  // namespace tally

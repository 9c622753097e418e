#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/segmentation/states/class_overlap.h"

namespace tally {

/// Options of MeanIoU.
///
/// Example: `MeanIoU iou(MeanIoUOptions(5).per_class(true));`
struct MeanIoUOptions
    : OverlapOptions<MeanIoUOptions, std::optional<std::int64_t>> {
  /// As many classes as the inputs have: not with SegmentationFormat::kIndex.
  MeanIoUOptions() : OverlapOptions(std::nullopt) {}
  /// The number of classes, at least 1.
  template <class Count, RequireCount<Count> = 0>
  MeanIoUOptions(Count num_classes)
      : OverlapOptions(static_cast<std::int64_t>(num_classes)) {}

  /// Whether there is a value for each class.
  TORCH_ARG(bool, per_class) = false;
  TORCH_ARG(AggregationLevel,
            aggregation_level) = AggregationLevel::kSamplewise;

 public:
  void visit(OptionVisitor& v) {
    OverlapOptions::visit(v);
    v("per_class", per_class_, OptionRole::kValue, internal::words::kPerClass);
    v("aggregation_level", aggregation_level_, OptionRole::kValue,
      internal::words::kAggregationLevel);
  }
  void validate(const char* metric) const;
};

/// The mean intersection over union, or Jaccard index, of segmentations.
///
///     |P and T| / |P or T|, of the places of a class
///
/// update(preds, target): as in DiceScore.
/// Result: SegmentationScore, 0-dim, or with per_class [C] ([0] before the
/// first update if the inputs say how many classes there are); float64 in
/// [0, 1]. kSamplewise: the mean over samples of the mean over the classes that
/// are in either input of the sample, or of each class over these samples.
/// kGlobal: of the places of all samples together. `absent` makes classes that
/// are in neither input 0 or 1; else what nothing counted for is NaN, also
/// before any update. `cases`: how many samples counted.
/// State, NaN and errors: as in DiceScore; without num_classes inputs of
/// another number of classes than before are a c10::ValueError.
/// Not differentiable. Source: Jaccard 1912.
///
/// Example:
///     MeanIoU iou(5);
///     iou.update(at::rand({4, 5, 16, 16}), at::randint(0, 2, {4, 5, 16, 16}));
///     at::Tensor value = iou.compute().value;
class MeanIoU final : public MetricOf<MeanIoU, ClassOverlap, SegmentationScore,
                                      MeanIoUOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "MeanIoU";
  static constexpr MetricSummary kSummary{
      "The mean intersection over union of classes.", "[0, 1]", "",
      "miou, mean iou, mean intersection over union",
      R"(\frac{1}{C} \sum_c \frac{|A_c \cap B_c|}{|A_c \cup B_c|})"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SegmentationScore evaluate(const State& state) const;
};

extern template class MetricOf<MeanIoU, ClassOverlap, SegmentationScore,
                               MeanIoUOptions>;

}  // namespace tally

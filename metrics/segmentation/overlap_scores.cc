#include <c10/util/Exception.h>

#include "tally/metrics/segmentation/dice_score.h"
#include "tally/metrics/segmentation/generalized_dice_score.h"
#include "tally/metrics/segmentation/mean_iou.h"

namespace tally {
namespace {

namespace segmentation = internal::segmentation;
using segmentation::OverlapScore;

OverlapScore score_of(Average average) {
  switch (average) {
    case Average::kMicro:
      return OverlapScore::kMicroDice;
    case Average::kWeighted:
      return OverlapScore::kWeightedDice;
    default:
      return OverlapScore::kMacroDice;
  }
}

OverlapScore score_of(DiceWeight weight) {
  switch (weight) {
    case DiceWeight::kSimple:
      return OverlapScore::kSimpleDice;
    case DiceWeight::kLinear:
      return OverlapScore::kMicroDice;
    default:
      return OverlapScore::kSquareDice;
  }
}

}  // namespace

SegmentationScore DiceScore::evaluate(const State& state) const {
  const DiceScoreOptions& o = options();
  return segmentation::with_cases(
      o.average() == Average::kNone
          ? segmentation::class_scores(
                state, o.aggregation_level(), o.absent(),
                segmentation::ClassScore::kDice,
                segmentation::counted_classes(o.num_classes(),
                                              o.include_background()))
          : segmentation::overlap_score(state, o.aggregation_level(),
                                        o.absent(), score_of(o.average())),
      o.count_cases());
}

SegmentationScore GeneralizedDiceScore::evaluate(const State& state) const {
  constexpr auto kLevel = AggregationLevel::kSamplewise;
  const GeneralizedDiceScoreOptions& o = options();
  return segmentation::with_cases(
      o.per_class()
          ? segmentation::class_scores(
                state, kLevel, o.absent(), segmentation::ClassScore::kDice,
                segmentation::counted_classes(o.num_classes(),
                                              o.include_background()))
          : segmentation::overlap_score(state, kLevel, o.absent(),
                                        score_of(o.weight_type())),
      o.count_cases());
}

void MeanIoUOptions::validate(const char* metric) const {
  OverlapOptions::validate(metric);
  TORCH_CHECK_VALUE(
      num_classes_ || input_format_ != SegmentationFormat::kIndex, metric,
      ": expected num_classes, as input_format=index does not say how many "
      "classes there are");
}

SegmentationScore MeanIoU::evaluate(const State& state) const {
  const MeanIoUOptions& o = options();
  const std::int64_t classes =
      o.num_classes() ? segmentation::counted_classes(*o.num_classes(),
                                                      o.include_background())
                      : 0;
  return segmentation::with_cases(
      o.per_class()
          ? segmentation::class_scores(state, o.aggregation_level(), o.absent(),
                                       segmentation::ClassScore::kIoU, classes)
          : segmentation::overlap_score(state, o.aggregation_level(),
                                        o.absent(),
                                        segmentation::OverlapScore::kMeanIoU),
      o.count_cases());
}

template class MetricOf<DiceScore, ClassOverlap, SegmentationScore,
                        DiceScoreOptions>;
template class MetricOf<GeneralizedDiceScore, ClassOverlap, SegmentationScore,
                        GeneralizedDiceScoreOptions>;
template class MetricOf<MeanIoU, ClassOverlap, SegmentationScore,
                        MeanIoUOptions>;

}  // namespace tally

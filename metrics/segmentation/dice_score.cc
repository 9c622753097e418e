#include "tally/metrics/segmentation/dice_score.h"

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

}  // namespace tally

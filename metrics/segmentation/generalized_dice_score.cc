#include "tally/metrics/segmentation/generalized_dice_score.h"

namespace tally {
namespace {

namespace segmentation = internal::segmentation;
using segmentation::OverlapScore;

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

}  // namespace tally

#pragma once

#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"
#include "tally/metrics/segmentation/states/class_overlap.h"

namespace tally {

/// How much a class weighs that has so many places of the target.
enum class DiceWeight {
  kSquare,  ///< 1 / places^2
  kSimple,  ///< 1 / places
  kLinear,  ///< 1
};

template <>
struct EnumNames<DiceWeight> {
  static constexpr const char* kNames[] = {"square", "simple", "linear"};
};

/// Options of GeneralizedDiceScore.
///
/// Example:
///     GeneralizedDiceScore dice(
///         GeneralizedDiceScoreOptions(5).weight_type(DiceWeight::kSimple));
struct GeneralizedDiceScoreOptions
    : OverlapOptions<GeneralizedDiceScoreOptions> {
  /// The number of classes, at least 1.
  template <class Count, RequireCount<Count> = 0>
  GeneralizedDiceScoreOptions(Count num_classes)
      : OverlapOptions(static_cast<std::int64_t>(num_classes)) {}
  explicit GeneralizedDiceScoreOptions(internal::Unset) : OverlapOptions(0) {}

  /// Whether there is a value for each class.
  TORCH_ARG(bool, per_class) = false;
  TORCH_ARG(DiceWeight, weight_type) = DiceWeight::kSquare;

 public:
  void visit(OptionVisitor& v) {
    OverlapOptions::visit(v);
    v("per_class", per_class_, OptionRole::kValue, internal::words::kPerClass);
    v("weight_type", weight_type_, OptionRole::kValue,
      "Function of a class's size that divides its weight.");
  }
};

/// The generalized Dice score, in which small classes weigh as much as large
/// ones.
///
///     2 sum_c w_c |P_c and T_c| / sum_c w_c (|P_c| + |T_c|)
///
/// of each sample, w_c by weight_type; a class that is not in a sample's target
/// weighs as much as the smallest one that is. The result is the mean over the
/// samples. For one class weights cancel: with per_class it is the Dice score.
/// update(preds, target): as in DiceScore.
/// Result: SegmentationScore, 0-dim, or with per_class [C]; float64 in [0, 1].
/// A sample (per_class: and class) without any pixel in either input is
/// skipped; `absent` makes it 0 or 1. NaN where nothing counted, also before
/// any update. State, NaN and errors: as in DiceScore. Not differentiable.
/// Source: Crum, Camara and Hill 2006; Sudre et al. 2017.
///
/// Example:
///     GeneralizedDiceScore dice(3);
///     dice.update(at::randint(0, 2, {4, 3, 16, 16}),
///                 at::randint(0, 2, {4, 3, 16, 16}));
///     at::Tensor value = dice.compute().value;
class GeneralizedDiceScore final
    : public MetricOf<GeneralizedDiceScore, ClassOverlap, SegmentationScore,
                      GeneralizedDiceScoreOptions> {
 public:
  using MetricOf::MetricOf;
  static constexpr const char* kName = "GeneralizedDiceScore";
  static constexpr MetricSummary kSummary{
      "Dice score with classes weighted by the inverse of their size.",
      "[0, 1]",
      "num_classes=5",
      "gds, generalized dice",
      R"(\frac{2 \sum_c w_c |A_c \cap B_c|}{\sum_c w_c (|A_c| + |B_c|)})",
      "Sudre et al. 2017"};
  static constexpr std::optional<bool> kHigherIsBetter = true;

  SegmentationScore evaluate(const State& state) const;
};

extern template class MetricOf<GeneralizedDiceScore, ClassOverlap,
                               SegmentationScore, GeneralizedDiceScoreOptions>;

}  // namespace tally

#include "tally/metrics/classification/fixed_sensitivity_specificity.h"

#include "tally/metrics/classification/curves/fixed_rates.h"

namespace tally {

namespace classification = internal::classification;

namespace {

using classification::Rate;

template <class Options>
SensitivityAtThreshold best_sensitivity(const CurveState& state,
                                        const Options& options) {
  const auto best = classification::best_thresholds(
      {state, options}, Rate::kRecall, Rate::kSpecificity,
      options.min_specificity());
  return {best.rate, best.threshold};
}

template <class Options>
SpecificityAtThreshold best_specificity(const CurveState& state,
                                        const Options& options) {
  const auto best =
      classification::best_thresholds({state, options}, Rate::kSpecificity,
                                      Rate::kRecall, options.min_sensitivity());
  return {best.rate, best.threshold};
}

}  // namespace

SensitivityAtThreshold BinarySensitivityAtSpecificity::evaluate(
    const State& state) const {
  return best_sensitivity(state, options());
}

SensitivityAtThreshold MulticlassSensitivityAtSpecificity::evaluate(
    const State& state) const {
  return best_sensitivity(state, options());
}

SensitivityAtThreshold MultilabelSensitivityAtSpecificity::evaluate(
    const State& state) const {
  return best_sensitivity(state, options());
}

SpecificityAtThreshold BinarySpecificityAtSensitivity::evaluate(
    const State& state) const {
  return best_specificity(state, options());
}

SpecificityAtThreshold MulticlassSpecificityAtSensitivity::evaluate(
    const State& state) const {
  return best_specificity(state, options());
}

SpecificityAtThreshold MultilabelSpecificityAtSensitivity::evaluate(
    const State& state) const {
  return best_specificity(state, options());
}

}  // namespace tally

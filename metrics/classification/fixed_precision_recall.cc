#include "tally/metrics/classification/fixed_precision_recall.h"

#include "tally/metrics/classification/curves/fixed_rates.h"

namespace tally {

namespace classification = internal::classification;

namespace {

using classification::Rate;

template <class Options>
RecallAtPrecision best_recall(const CurveState& state, const Options& options) {
  const auto best = classification::best_thresholds(
      {state, options}, Rate::kRecall, Rate::kPrecision,
      options.min_precision());
  return {best.rate, best.threshold};
}

template <class Options>
PrecisionAtRecall best_precision(const CurveState& state,
                                 const Options& options) {
  const auto best = classification::best_thresholds(
      {state, options}, Rate::kPrecision, Rate::kRecall, options.min_recall());
  return {best.rate, best.threshold};
}

}  // namespace

RecallAtPrecision BinaryRecallAtFixedPrecision::evaluate(
    const State& state) const {
  return best_recall(state, options());
}

RecallAtPrecision MulticlassRecallAtFixedPrecision::evaluate(
    const State& state) const {
  return best_recall(state, options());
}

RecallAtPrecision MultilabelRecallAtFixedPrecision::evaluate(
    const State& state) const {
  return best_recall(state, options());
}

PrecisionAtRecall BinaryPrecisionAtFixedRecall::evaluate(
    const State& state) const {
  return best_precision(state, options());
}

PrecisionAtRecall MulticlassPrecisionAtFixedRecall::evaluate(
    const State& state) const {
  return best_precision(state, options());
}

PrecisionAtRecall MultilabelPrecisionAtFixedRecall::evaluate(
    const State& state) const {
  return best_precision(state, options());
}

}  // namespace tally

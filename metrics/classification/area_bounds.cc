#include "tally/metrics/classification/area_bounds.h"

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_values.h"

namespace tally {

namespace classification = internal::classification;

namespace {

using classification::Bound;
using classification::ScoreCounts;

AreaBounds bounds_of(const classification::CurveView& view, Average average,
                     const classification::ValueOf& value_of,
                     double (*bound_of)(const ScoreCounts&, Bound)) {
  const at::Tensor value =
      classification::average_values(view, average, value_of);
  // No scores share a bin.
  if (view.thresholds.exact()) return {value, value.clone(), value.clone()};
  const auto bound = [&](Bound end) {
    return classification::average_values(
        view, average,
        [&](const ScoreCounts& counts) { return bound_of(counts, end); });
  };
  return {value, bound(Bound::kLower), bound(Bound::kUpper)};
}

AreaBounds roc_bounds(const classification::CurveView& view, Average average) {
  return bounds_of(
      view, average,
      [](const ScoreCounts& counts) {
        return classification::roc_area(counts);
      },
      classification::roc_area_bound);
}

AreaBounds precision_bounds(const classification::CurveView& view,
                            Average average) {
  return bounds_of(view, average, classification::average_precision,
                   classification::average_precision_bound);
}

}  // namespace

AreaBounds BinaryAUROCBounds::evaluate(const State& state) const {
  return roc_bounds({state, options()}, Average::kNone);
}

AreaBounds MulticlassAUROCBounds::evaluate(const State& state) const {
  return roc_bounds({state, options()}, options().average());
}

AreaBounds MultilabelAUROCBounds::evaluate(const State& state) const {
  return roc_bounds({state, options()}, options().average());
}

AreaBounds BinaryAveragePrecisionBounds::evaluate(const State& state) const {
  return precision_bounds({state, options()}, Average::kNone);
}

AreaBounds MulticlassAveragePrecisionBounds::evaluate(
    const State& state) const {
  return precision_bounds({state, options()}, options().average());
}

AreaBounds MultilabelAveragePrecisionBounds::evaluate(
    const State& state) const {
  return precision_bounds({state, options()}, options().average());
}

template class MetricOf<BinaryAUROCBounds, BinaryCurve, AreaBounds,
                        BinaryAreaBoundsOptions>;
template class MetricOf<MulticlassAUROCBounds, MulticlassCurve, AreaBounds,
                        MulticlassAreaBoundsOptions>;
template class MetricOf<MultilabelAUROCBounds, MultilabelCurve, AreaBounds,
                        MultilabelAreaBoundsOptions>;
template class MetricOf<BinaryAveragePrecisionBounds, BinaryCurve, AreaBounds,
                        BinaryAreaBoundsOptions>;
template class MetricOf<MulticlassAveragePrecisionBounds, MulticlassCurve,
                        AreaBounds, MulticlassAreaBoundsOptions>;
template class MetricOf<MultilabelAveragePrecisionBounds, MultilabelCurve,
                        AreaBounds, MultilabelAreaBoundsOptions>;

}  // namespace tally

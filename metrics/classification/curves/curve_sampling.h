#pragma once

#include "tally/metrics/classification/curves/curve_view.h"
#include "tally/metrics/sampling.h"

/// What metrics on curves say about their rows.
namespace tally::internal::classification {

/// PairSampling::visit of the curves of a state. Rows with weights are those of
/// a single exact curve.
void visit_pairs(const CurveView& view, const PairSampling::Use& use);

/// For a metric whose result has the area of each curve.
template <class Options>
PairSampling pairs_of(const Options& options, std::int64_t target_dims) {
  PairSampling pairs;
  pairs.visit = [options](const AnyState& state, const PairSampling::Use& use) {
    visit_pairs({state.get<CurveState>(), options}, use);
  };
  pairs.target_dims = target_dims;
  return pairs;
}

/// The rows with a positive of an exact curve's state.
double positive_rows(const CurveState& state);

/// For a metric of a single exact curve.
ScoreSampling scores_of(CurveArea area);

}  // namespace tally::internal::classification

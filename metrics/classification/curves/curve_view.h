#pragma once

#include "tally/metrics/classification/curves/curve_options.h"
#include "tally/metrics/classification/curves/curve_state.h"

namespace tally::internal::classification {

/// A state, and the options for reading it.
struct CurveView {
  template <class Options>
  CurveView(const CurveState& curve_state, const Options& options)
      : state(curve_state),
        shape(options.shape()),
        thresholds(options.thresholds()),
        input(options.input()) {}

  const CurveState& state;
  CurveShape shape;
  const Thresholds& thresholds;
  ScoreKind input;
};

}  // namespace tally::internal::classification

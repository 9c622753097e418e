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
        input(options.input()),
        keeps_rows(options.keeps_rows()) {}

  const CurveState& state;
  CurveShape shape;
  const Thresholds& thresholds;
  ScoreKind input;
  bool keeps_rows;
};

}  // namespace tally::internal::classification

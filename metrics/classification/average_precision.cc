#include "tally/metrics/classification/average_precision.h"

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_values.h"

namespace tally {

at::Tensor BinaryAveragePrecision::evaluate(const State& state) const {
  return internal::average_values({state, options()}, Average::kNone,
                                  internal::average_precision);
}

at::Tensor MulticlassAveragePrecision::evaluate(const State& state) const {
  return internal::average_values({state, options()}, options().average(),
                                  internal::average_precision);
}

at::Tensor MultilabelAveragePrecision::evaluate(const State& state) const {
  return internal::average_values({state, options()}, options().average(),
                                  internal::average_precision);
}

}  // namespace tally

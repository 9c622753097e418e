#include "tally/metrics/classification/average_precision.h"

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_values.h"

namespace tally {

namespace classification = internal::classification;

at::Tensor BinaryAveragePrecision::evaluate(const State& state) const {
  return classification::average_values({state, options()}, Average::kNone,
                                        classification::average_precision);
}

at::Tensor MulticlassAveragePrecision::evaluate(const State& state) const {
  return classification::average_values({state, options()}, options().average(),
                                        classification::average_precision);
}

at::Tensor MultilabelAveragePrecision::evaluate(const State& state) const {
  return classification::average_values({state, options()}, options().average(),
                                        classification::average_precision);
}

}  // namespace tally

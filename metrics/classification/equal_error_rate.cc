#include "tally/metrics/classification/equal_error_rate.h"

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_values.h"

namespace tally {

namespace classification = internal::classification;

at::Tensor BinaryEER::evaluate(const State& state) const {
  return classification::average_values({state, options()}, Average::kNone,
                                        classification::equal_error_rate);
}

at::Tensor MulticlassEER::evaluate(const State& state) const {
  return classification::average_values({state, options()}, options().average(),
                                        classification::equal_error_rate);
}

at::Tensor MultilabelEER::evaluate(const State& state) const {
  return classification::average_values({state, options()}, options().average(),
                                        classification::equal_error_rate);
}

}  // namespace tally

#include "tally/metrics/nominal/pearsons_contingency_coefficient.h"

#include "tally/metrics/nominal/states/association_values.h"

namespace tally {

namespace nominal = internal::nominal;

at::Tensor PearsonsContingencyCoefficient::evaluate(const State& state) const {
  return internal::scalar_tensor(nominal::pearsons_contingency_coefficient(
      internal::tables::contingency_of(state)));
}

at::Tensor PearsonsContingencyCoefficientMatrix::evaluate(
    const State& state) const {
  return nominal::association_matrix(state,
                                     nominal::pearsons_contingency_coefficient);
}

}  // namespace tally

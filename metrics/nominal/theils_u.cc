#include "tally/metrics/nominal/theils_u.h"

#include "tally/metrics/nominal/states/association_values.h"

namespace tally {

namespace nominal = internal::nominal;

at::Tensor TheilsU::evaluate(const State& state) const {
  return internal::scalar_tensor(
      nominal::theils_u(internal::tables::contingency_of(state)));
}

at::Tensor TheilsUMatrix::evaluate(const State& state) const {
  return nominal::association_matrix(state, nominal::theils_u);
}

}  // namespace tally

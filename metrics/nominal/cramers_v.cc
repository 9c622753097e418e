#include "tally/metrics/nominal/cramers_v.h"

#include "tally/metrics/nominal/states/association_values.h"

namespace tally {

namespace nominal = internal::nominal;

at::Tensor CramersV::evaluate(const State& state) const {
  return internal::scalar_tensor(
      nominal::cramers_v(internal::tables::contingency_of(state),
                         options().bias_correction(), options().yates()));
}

at::Tensor CramersVMatrix::evaluate(const State& state) const {
  return nominal::association_matrix(state, [this](const auto& table) {
    return nominal::cramers_v(table, options().bias_correction(),
                              options().yates());
  });
}

}  // namespace tally

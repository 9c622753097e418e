#include "tally/metrics/nominal/tschuprows_t.h"

#include "tally/metrics/nominal/states/association_values.h"

namespace tally {

namespace nominal = internal::nominal;

at::Tensor TschuprowsT::evaluate(const State& state) const {
  return internal::scalar_tensor(
      nominal::tschuprows_t(internal::tables::contingency_of(state),
                            options().bias_correction(), options().yates()));
}

at::Tensor TschuprowsTMatrix::evaluate(const State& state) const {
  return nominal::association_matrix(state, [this](const auto& table) {
    return nominal::tschuprows_t(table, options().bias_correction(),
                                 options().yates());
  });
}

}  // namespace tally

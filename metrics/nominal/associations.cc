#include "tally/metrics/nominal/cramers_v.h"
#include "tally/metrics/nominal/pearsons_contingency_coefficient.h"
#include "tally/metrics/nominal/states/association_values.h"
#include "tally/metrics/nominal/theils_u.h"
#include "tally/metrics/nominal/tschuprows_t.h"

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

at::Tensor PearsonsContingencyCoefficient::evaluate(const State& state) const {
  return internal::scalar_tensor(nominal::pearsons_contingency_coefficient(
      internal::tables::contingency_of(state)));
}

at::Tensor PearsonsContingencyCoefficientMatrix::evaluate(
    const State& state) const {
  return nominal::association_matrix(state,
                                     nominal::pearsons_contingency_coefficient);
}

at::Tensor TheilsU::evaluate(const State& state) const {
  return internal::scalar_tensor(
      nominal::theils_u(internal::tables::contingency_of(state)));
}

at::Tensor TheilsUMatrix::evaluate(const State& state) const {
  return nominal::association_matrix(state, nominal::theils_u);
}

template class MetricOf<CramersV, CategoryPairs, at::Tensor, CramersVOptions>;
template class MetricOf<CramersVMatrix, ColumnPairs, at::Tensor,
                        CramersVMatrixOptions>;
template class MetricOf<PearsonsContingencyCoefficient, CategoryPairs,
                        at::Tensor, PearsonsContingencyCoefficientOptions>;
template class MetricOf<PearsonsContingencyCoefficientMatrix, ColumnPairs,
                        at::Tensor,
                        PearsonsContingencyCoefficientMatrixOptions>;
template class MetricOf<TheilsU, CategoryPairs, at::Tensor, TheilsUOptions>;
template class MetricOf<TheilsUMatrix, ColumnPairs, at::Tensor,
                        TheilsUMatrixOptions>;
template class MetricOf<TschuprowsT, CategoryPairs, at::Tensor,
                        TschuprowsTOptions>;
template class MetricOf<TschuprowsTMatrix, ColumnPairs, at::Tensor,
                        TschuprowsTMatrixOptions>;

}  // namespace tally

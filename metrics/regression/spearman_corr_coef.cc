#include "tally/metrics/regression/spearman_corr_coef.h"

#include "tally/metrics/regression/inputs/inputs.h"
#include "tally/metrics/regression/kernels/pair_ranks.h"

namespace tally {

at::Tensor SpearmanCorrCoef::evaluate(const State& state) const {
  const std::int64_t outputs = options().num_outputs();
  at::Tensor values = internal::regression::undefined_outputs(outputs);
  if (state.preds.defined() && state.target.defined()) {
    double* const to = values.mutable_data_ptr<double>();
    const auto columns = [&](const Rows& rows) {
      return rows.tensor().to(at::kCPU).reshape({-1, outputs});
    };
    const at::Tensor preds = columns(state.preds);
    const at::Tensor target = columns(state.target);
    for (std::int64_t i = 0; i < outputs; ++i) {
      to[i] = internal::regression::rank_correlation(preds.select(1, i),
                                                     target.select(1, i));
    }
  }
  return outputs == 1 ? values.squeeze(0) : values;
}

}  // namespace tally

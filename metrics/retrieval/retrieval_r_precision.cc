#include "tally/metrics/retrieval/retrieval_r_precision.h"

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

using retrieval::QueryView;

at::Tensor RetrievalRPrecision::evaluate(const State& state) const {
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName), [](const QueryView& query) {
        return retrieval::hits_within(query, query.relevant) /
               static_cast<double>(query.relevant);
      });
}

}  // namespace tally

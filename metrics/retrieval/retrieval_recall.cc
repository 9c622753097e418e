#include "tally/metrics/retrieval/retrieval_recall.h"

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

using retrieval::QueryView;

at::Tensor RetrievalRecall::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) {
        return retrieval::hits_within(query, k) /
               static_cast<double>(query.relevant);
      });
}

}  // namespace tally

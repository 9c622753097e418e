#include "tally/metrics/retrieval/retrieval_precision.h"

#include <algorithm>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

using retrieval::QueryView;

at::Tensor RetrievalPrecision::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  const bool adaptive = options().adaptive_k() || !options().top_k();
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) {
        const std::int64_t documents = adaptive ? std::min(k, query.listed) : k;
        if (documents == 0) return 0.0;
        return retrieval::hits_within(query, k) /
               static_cast<double>(documents);
      });
}

}  // namespace tally

#include "tally/metrics/retrieval/retrieval_fall_out.h"

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

using retrieval::QueryValue;
using retrieval::QueryView;

namespace {

double misses_within(const QueryView& query, std::int64_t k) {
  double misses = 0;
  retrieval::for_each_group(query, k, [&](const retrieval::TieGroup& group) {
    misses += group.mean_within(group.nonrelevant(), k);
  });
  return misses;
}

}  // namespace

at::Tensor RetrievalFallOut::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  return retrieval::evaluate_queries(
      state.ranked().get(), options().rules(kName),
      "a document that is not relevant", [=](const QueryView& query) {
        if (query.nonrelevant == 0) return QueryValue::none();
        return QueryValue{misses_within(query, k) /
                          static_cast<double>(query.nonrelevant)};
      });
}

}  // namespace tally

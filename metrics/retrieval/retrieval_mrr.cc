#include "tally/metrics/retrieval/retrieval_mrr.h"

#include <algorithm>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

using retrieval::QueryView;

namespace {

using retrieval::TieGroup;

double reciprocal_rank(const QueryView& query, std::int64_t k) {
  if (query.is_strict()) {
    const std::int64_t last = std::min(k, query.runs);
    std::int64_t i = 0;
    while (i < last && query.grades[i] <= 0) ++i;
    return i < last ? 1 / static_cast<double>(i + 1) : 0;
  }
  double sum = 0;
  bool found = false;
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    const std::int64_t relevant = found ? 0 : group.relevant();
    if (relevant == 0) return;
    found = true;
    // The chance that the i-th document of the group is the first one.
    double chance =
        static_cast<double>(relevant) / static_cast<double>(group.size);
    const std::int64_t last =
        std::min(group.slots(k), group.size - relevant + 1);
    for (std::int64_t i = 1; i <= last; ++i) {
      sum += chance / static_cast<double>(group.above + i);
      if (i == last) break;
      chance *= static_cast<double>(group.size - i - relevant + 1) /
                static_cast<double>(group.size - i);
    }
  });
  return sum;
}

}  // namespace

at::Tensor RetrievalMRR::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) { return reciprocal_rank(query, k); });
}

}  // namespace tally

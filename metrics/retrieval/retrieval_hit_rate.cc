#include "tally/metrics/retrieval/retrieval_hit_rate.h"

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

using retrieval::QueryView;

namespace {

using retrieval::TieGroup;

double hit_chance(const QueryView& query, std::int64_t k) {
  double none = 1;
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    const std::int64_t others = group.size - group.relevant();
    const std::int64_t slots = group.slots(k);
    if (slots > others) {
      none = 0;
      return;
    }
    if (others == group.size) return;
    // A relevant one can be in each slot that is still free.
    for (std::int64_t i = 0; i < slots; ++i) {
      none *=
          static_cast<double>(others - i) / static_cast<double>(group.size - i);
    }
  });
  return 1 - none;
}

}  // namespace

at::Tensor RetrievalHitRate::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) { return hit_chance(query, k); });
}

}  // namespace tally

#include "tally/metrics/retrieval/retrieval_map.h"

#include <algorithm>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

namespace {

using retrieval::QueryView;
using retrieval::TieGroup;

// The precisions of the relevant documents within the best k.
double precision_sum(const QueryView& query, std::int64_t k) {
  double sum = 0;
  if (query.is_strict()) {
    // A branch would be guessed wrong.
    double found = 0;
    for (std::int64_t i = 0; i < std::min(k, query.runs); ++i) {
      const double is_relevant = query.grades[i] > 0;
      found += is_relevant;
      sum += is_relevant * (found / static_cast<double>(i + 1));
    }
    return sum;
  }
  std::int64_t hits = 0;
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    const std::int64_t relevant = group.relevant();
    if (relevant == 0) return;
    const auto before = static_cast<double>(hits);
    const auto above = static_cast<double>(group.above);
    hits += relevant;
    if (group.size == 1) {
      sum += (before + 1) / (above + 1);
      return;
    }
    // A document is relevant with this chance, and with that each before it.
    const double chance =
        static_cast<double>(relevant) / static_cast<double>(group.size);
    const double others =
        static_cast<double>(relevant - 1) / static_cast<double>(group.size - 1);
    const std::int64_t slots = group.slots(k);
    for (std::int64_t i = 1; i <= slots; ++i) {
      const auto place = static_cast<double>(i);
      sum += chance * (before + (place - 1) * others + 1) / (above + place);
    }
  });
  return sum;
}

}  // namespace

at::Tensor RetrievalMAP::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  const bool attainable = options().denominator() == APDenominator::kAttainable;
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) {
        const std::int64_t most =
            attainable ? std::min(k, query.relevant) : query.relevant;
        return std::min(1.0,
                        precision_sum(query, k) / static_cast<double>(most));
      });
}

}  // namespace tally

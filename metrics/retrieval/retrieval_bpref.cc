#include "tally/metrics/retrieval/retrieval_bpref.h"

#include <algorithm>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

using retrieval::QueryValue;
using retrieval::QueryView;

namespace {

double preference(const QueryView& query) {
  const auto most =
      static_cast<double>(std::min(query.nonrelevant, query.relevant));
  // Of a relevant document with so many others above it.
  const auto term = [&](std::int64_t above) {
    if (above == 0) return 1.0;
    return 1 - static_cast<double>(std::min(above, query.relevant)) / most;
  };
  double sum = 0;
  std::int64_t above = 0;
  retrieval::for_each_group(query, retrieval::depth_of({}),
                            [&](const retrieval::TieGroup& group) {
                              const std::int64_t relevant = group.relevant();
                              const std::int64_t others = group.nonrelevant();
                              if (relevant > 0) {
                                // Each number of them above it is as likely.
                                double terms = 0;
                                for (std::int64_t i = 0; i <= others; ++i)
                                  terms += term(above + i);
                                sum += static_cast<double>(relevant) * terms /
                                       static_cast<double>(others + 1);
                              }
                              above += others;
                            });
  return sum / static_cast<double>(query.relevant);
}

}  // namespace

at::Tensor RetrievalBpref::evaluate(const State& state) const {
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [](const QueryView& query) { return preference(query); });
}

}  // namespace tally

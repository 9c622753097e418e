#include "tally/metrics/retrieval/retrieval_rbp.h"

#include <c10/util/Exception.h>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally {

namespace retrieval = internal::retrieval;

namespace {

using retrieval::QueryValue;
using retrieval::QueryView;
using retrieval::TieGroup;

struct Parts {
  double value = 0;
  double residual = 0;
};

Parts parts_of(const QueryView& query, std::int64_t k, double persistence,
               double g_max) {
  Parts parts;
  double weight = 1;  // persistence to the power of the documents above
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    const std::int64_t slots = group.slots(k);
    double weights = 0;
    for (std::int64_t i = 0; i < slots; ++i) {
      weights += weight;
      weight *= persistence;
    }
    const auto size = static_cast<double>(group.size);
    const double grades =
        group.sum([](double grade) { return grade > 0 ? grade : 0; });
    const double unjudged =
        group.sum([](double grade) { return grade < 0 ? 1.0 : 0.0; });
    parts.value += weights * (grades / size);
    parts.residual += weights * (unjudged / size);
  });
  parts.value *= (1 - persistence) / g_max;
  parts.residual = weight + (1 - persistence) * parts.residual;
  return parts;
}

}  // namespace

void RetrievalRBPOptions::validate(const char* metric) const {
  TopKOptions::validate(metric);
  TORCH_CHECK_VALUE(persistence_ > 0 && persistence_ < 1, metric,
                    ": expected persistence in (0, 1), got ", persistence_);
  TORCH_CHECK_VALUE(g_max_ > 0, metric, ": expected g_max above 0, got ",
                    g_max_);
}

RankBiasedPrecision RetrievalRBP::evaluate(const State& state) const {
  const auto ranked = state.ranked();
  const double g_max = options().g_max();
  if (ranked) retrieval::check_grades(*ranked, kName, g_max);
  const std::int64_t k = retrieval::depth_of(options().top_k());
  const double persistence = options().persistence();
  const retrieval::ValueRules rules = options().rules(kName);
  const bool skips = rules.action == EmptyTargetAction::kSkip;
  RankBiasedPrecision result;
  result.value = retrieval::evaluate_relevant(
      ranked.get(), rules, [&](const QueryView& query) {
        return parts_of(query, k, persistence, g_max).value;
      });
  result.residual = retrieval::evaluate_queries(
      ranked.get(), rules, retrieval::kRelevant, [&](const QueryView& query) {
        if (query.relevant == 0 && skips) return QueryValue::none();
        return QueryValue{parts_of(query, k, persistence, g_max).residual};
      });
  return result;
}

}  // namespace tally

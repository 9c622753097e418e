#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <vector>

#include "tally/metrics/retrieval/kernels/ranked_queries.h"
#include "tally/metrics/retrieval/options/retrieval_options.h"

namespace tally::internal::retrieval {

/// What a measure makes of a query.
struct QueryValue {
  /// The mean over the orders of ties in which there is one.
  double value = 0;
  /// In which fraction of them there is one. Where not, the query lacks what
  /// the measure is about; see EmptyTargetAction.
  double defined = 1;

  static QueryValue none() { return {0, 0}; }
};

/// Of each query by ascending index, NaN for those that are skipped.
/// c10::ValueError for the first one that lacks `wanted` ("a relevant
/// document") under EmptyTargetAction::kError, and for ties by ids without
/// doc_ids. `measure` is called from several threads.
std::vector<double> query_values(
    const RankedQueries* ranked, const ValueRules& rules, const char* wanted,
    c10::function_ref<QueryValue(const QueryView& query)> measure);

/// [queries] of these, or one of them all, 0-dim: NaN if there are none.
at::Tensor aggregate(std::vector<double> values, QueryAggregation aggregation);

/// The value of a measure over all queries; null: there are none.
inline at::Tensor evaluate_queries(
    const RankedQueries* ranked, const ValueRules& rules, const char* wanted,
    c10::function_ref<QueryValue(const QueryView& query)> measure) {
  return aggregate(query_values(ranked, rules, wanted, measure),
                   rules.aggregation);
}

inline constexpr const char* kRelevant = "a relevant document";

/// The same of a measure that every query with a relevant document has:
/// `double measure(const QueryView& query)`.
template <class Measure>
at::Tensor evaluate_relevant(const RankedQueries* ranked,
                             const ValueRules& rules, const Measure& measure) {
  return evaluate_queries(
      ranked, rules, kRelevant, [&measure](const QueryView& query) {
        return query.relevant == 0 ? QueryValue::none()
                                   : QueryValue{measure(query)};
      });
}

/// c10::ValueError for a grade above g_max.
void check_grades(const RankedQueries& ranked, const char* metric,
                  double g_max);

/// How many of `drawn` documents are marked, of `all` of which some are: the
/// probabilities of least_marked() and more.
class MarkedDraws {
 public:
  MarkedDraws(std::int64_t all, std::int64_t marked, std::int64_t drawn);

  std::int64_t least() const { return least_; }
  std::int64_t most() const {
    return least_ + static_cast<std::int64_t>(probabilities_.size()) - 1;
  }
  double probability(std::int64_t marked) const {
    return probabilities_[marked - least_];
  }

 private:
  std::int64_t least_;
  std::vector<double> probabilities_;
};

}  // namespace tally::internal::retrieval

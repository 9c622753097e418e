#include "tally/metrics/retrieval/kernels/query_values.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/state/fresh_tensor.h"
#include "tally/state/number.h"

namespace tally::internal::retrieval {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// Queries that are worth a thread.
constexpr std::int64_t kGrain = 256;

double with_action(const QueryValue& value, EmptyTargetAction action) {
  if (value.defined == 1) return value.value;
  if (action == EmptyTargetAction::kNegative) {
    return value.defined * value.value;
  }
  if (action == EmptyTargetAction::kPositive) {
    return value.defined * value.value + (1 - value.defined);
  }
  return value.defined == 0 ? kNaN : value.value;
}

}  // namespace

std::vector<double> query_values(
    const RankedQueries* ranked, const ValueRules& rules, const char* wanted,
    c10::function_ref<QueryValue(const QueryView& query)> measure) {
  if (ranked == nullptr) return {};
  TORCH_CHECK_VALUE(rules.ties != TieOrder::kIds || ranked->has_ids(),
                    rules.metric,
                    ": expected doc_ids in every update with ties=ids");
  std::vector<double> values(ranked->queries());
  std::vector<std::uint8_t> lacking(values.size());
  at::parallel_for(0, ranked->queries(), kGrain,
                   [&](std::int64_t begin, std::int64_t end) {
                     RankedQueries::Buffers buffers;
                     for (std::int64_t q = begin; q < end; ++q) {
                       const QueryValue value =
                           measure(ranked->view(q, rules.ties, buffers));
                       lacking[q] = value.defined == 0;
                       values[q] = with_action(value, rules.action);
                     }
                   });
  if (rules.action == EmptyTargetAction::kError) {
    const auto found = std::find(lacking.begin(), lacking.end(), 1);
    TORCH_CHECK_VALUE(found == lacking.end(), rules.metric,
                      ": expected every query to have ", wanted, ", query ",
                      ranked->id(found - lacking.begin()),
                      " has none (empty_target_action=error)");
  }
  return values;
}

at::Tensor aggregate(std::vector<double> values, QueryAggregation aggregation) {
  if (aggregation == QueryAggregation::kNone) {
    const at::Tensor all =
        fresh_tensor({static_cast<std::int64_t>(values.size())}, at::kDouble);
    std::copy(values.begin(), values.end(), all.mutable_data_ptr<double>());
    return all;
  }
  values.erase(std::remove_if(values.begin(), values.end(),
                              [](double value) { return std::isnan(value); }),
               values.end());
  if (values.empty()) return scalar_tensor(kNaN);
  switch (aggregation) {
    case QueryAggregation::kMedian: {
      const auto middle =
          values.begin() + static_cast<std::int64_t>(values.size() - 1) / 2;
      std::nth_element(values.begin(), middle, values.end());
      return scalar_tensor(*middle);
    }
    case QueryAggregation::kMin:
      return scalar_tensor(*std::min_element(values.begin(), values.end()));
    case QueryAggregation::kMax:
      return scalar_tensor(*std::max_element(values.begin(), values.end()));
    default: {
      double sum = 0;
      for (const double value : values) sum += value;
      return scalar_tensor(sum / static_cast<double>(values.size()));
    }
  }
}

void check_grades(const RankedQueries& ranked, const char* metric,
                  double g_max) {
  const double most = ranked.most_grade();
  TORCH_CHECK_VALUE(most <= g_max, metric,
                    ": expected grades of at most g_max=", g_max, ", got ",
                    most);
}

MarkedDraws::MarkedDraws(std::int64_t all, std::int64_t marked,
                         std::int64_t drawn)
    : least_(std::max(std::int64_t{0}, drawn - (all - marked))) {
  const std::int64_t most = std::min(marked, drawn);
  probabilities_.resize(most - least_ + 1);
  // From the likeliest outwards, where nothing overflows or cancels.
  const std::int64_t mode =
      std::clamp(static_cast<std::int64_t>(static_cast<double>(drawn + 1) *
                                           (static_cast<double>(marked) + 1) /
                                           (static_cast<double>(all) + 2)),
                 least_, most);
  const auto ratio = [=](std::int64_t i) {  // of i + 1 to i
    return static_cast<double>(marked - i) * static_cast<double>(drawn - i) /
           (static_cast<double>(i + 1) *
            static_cast<double>(all - marked - drawn + i + 1));
  };
  probabilities_[mode - least_] = 1;
  double sum = 1;
  for (std::int64_t i = mode; i < most; ++i) {
    sum += probabilities_[i + 1 - least_] =
        probabilities_[i - least_] * ratio(i);
  }
  for (std::int64_t i = mode; i > least_; --i) {
    sum += probabilities_[i - 1 - least_] =
        probabilities_[i - least_] / ratio(i - 1);
  }
  for (double& probability : probabilities_) probability /= sum;
}

}  // namespace tally::internal::retrieval

#include "tally/metrics/retrieval/kernels/query_values.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/retrieval/kernels/hit_curves.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"
#include "tally/state/number.h"

namespace tally::internal::retrieval {
namespace {

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

// One curve: its queries' precisions, or their recalls, at each depth.
class Curve {
 public:
  Curve(std::int64_t depth, std::int64_t queries, QueryAggregation aggregation)
      : aggregation_(aggregation), depth_(depth) {
    // A mean or an extreme needs no more than one row.
    const bool keeps = aggregation == QueryAggregation::kMedian ||
                       aggregation == QueryAggregation::kNone;
    if (keeps) {
      all_ = at::full({queries, depth}, kNaN, at::kDouble);
    } else {
      one_.resize(depth);
    }
  }

  void add(const double* values) {
    if (all_.defined()) {
      std::copy_n(values, depth_,
                  all_.mutable_data_ptr<double>() + count_ * depth_);
    }
    for (std::size_t i = 0; i < one_.size(); ++i) {
      if (count_ == 0) {
        one_[i] = values[i];
      } else if (aggregation_ == QueryAggregation::kMean) {
        one_[i] += values[i];
      } else if (aggregation_ == QueryAggregation::kMin) {
        one_[i] = std::min(one_[i], values[i]);
      } else {
        one_[i] = std::max(one_[i], values[i]);
      }
    }
    ++count_;
  }
  // One of NaN, where each query has its own.
  void skip() { count_ += aggregation_ == QueryAggregation::kNone; }

  at::Tensor result() const {
    if (aggregation_ == QueryAggregation::kNone) return all_;
    at::Tensor values = at::full({depth_}, kNaN, at::kDouble);
    if (count_ == 0) return values;
    double* const to = values.mutable_data_ptr<double>();
    if (all_.defined()) {
      const double* const from = all_.const_data_ptr<double>();
      std::vector<double> own(count_);
      for (std::int64_t i = 0; i < depth_; ++i) {
        for (std::int64_t q = 0; q < count_; ++q) own[q] = from[q * depth_ + i];
        const auto middle = own.begin() + (count_ - 1) / 2;
        std::nth_element(own.begin(), middle, own.end());
        to[i] = *middle;
      }
      return values;
    }
    const bool is_mean = aggregation_ == QueryAggregation::kMean;
    for (std::int64_t i = 0; i < depth_; ++i) {
      to[i] = is_mean ? one_[i] / static_cast<double>(count_) : one_[i];
    }
    return values;
  }

 private:
  QueryAggregation aggregation_;
  std::int64_t depth_;
  std::int64_t count_ = 0;
  at::Tensor all_;
  std::vector<double> one_;
};

struct Row {
  explicit Row(std::int64_t depth) : precision(depth), recall(depth) {}
  std::vector<double> precision, recall;
};

// REQUIRES: the query has relevant documents.
void fill(const QueryView& query, bool adaptive, Row& row) {
  const auto depth = static_cast<std::int64_t>(row.recall.size());
  const auto relevant = static_cast<double>(query.relevant);
  const std::int64_t most =
      adaptive ? std::max(query.listed, std::int64_t{1}) : depth;
  const auto set = [&](std::int64_t i, double hits) {
    row.precision[i] = hits / static_cast<double>(std::min(i + 1, most));
    row.recall[i] = hits / relevant;
  };
  double hits = 0;
  for_each_group(query, depth, [&](const TieGroup& group) {
    const auto own = static_cast<double>(group.relevant());
    const std::int64_t slots = group.slots(depth);
    for (std::int64_t i = 0; i < slots; ++i) {
      const double within =
          own * static_cast<double>(i + 1) / static_cast<double>(group.size);
      set(group.above + i, hits + within);
    }
    hits += own;
  });
  for (std::int64_t i = std::min(query.listed, depth); i < depth; ++i) {
    set(i, hits);
  }
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
  at::parallel_for(0, ranked->queries(), kQueryGrain,
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
  if (aggregation == QueryAggregation::kNone) return tensor_of(values);
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

HitCurves hit_curves(const RankedQueries* ranked, const ValueRules& rules,
                     const CurveRules& curve) {
  const std::int64_t queries = ranked == nullptr ? 0 : ranked->queries();
  const std::int64_t depth =
      curve.max_k.value_or(ranked == nullptr ? 0 : ranked->most_listed());
  TORCH_CHECK_VALUE(depth <= kMostDepth, rules.metric,
                    ": expected max_k for queries of more than ", kMostDepth,
                    " documents, got one of ", depth);
  Curve precision(depth, queries, rules.aggregation);
  Curve recall(depth, queries, rules.aggregation);
  // Refuses what is an error before anything else is done.
  const std::vector<double> actions =
      query_values(ranked, rules, kRelevant, [](const QueryView& query) {
        return query.relevant == 0 ? QueryValue::none() : QueryValue{0};
      });
  Row row(depth);
  RankedQueries::Buffers buffers;
  for (std::int64_t q = 0; q < queries; ++q) {
    const QueryView query = ranked->view(q, rules.ties, buffers);
    if (query.relevant > 0) {
      fill(query, curve.adaptive_k, row);
    } else if (std::isnan(actions[q])) {
      precision.skip();
      recall.skip();
      continue;
    } else {
      std::fill(row.precision.begin(), row.precision.end(), actions[q]);
      std::fill(row.recall.begin(), row.recall.end(), actions[q]);
    }
    precision.add(row.precision.data());
    recall.add(row.recall.data());
  }
  return {precision.result(), recall.result()};
}

}  // namespace tally::internal::retrieval

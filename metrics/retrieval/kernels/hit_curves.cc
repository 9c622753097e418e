#include "tally/metrics/retrieval/kernels/hit_curves.h"

#include <ATen/ops/full.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"

namespace tally::internal::retrieval {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// One curve: its queries' precisions, or their recalls, at each depth.
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

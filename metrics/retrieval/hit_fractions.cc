#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>

#include "tally/metrics/retrieval/kernels/hit_curves.h"
#include "tally/metrics/retrieval/kernels/query_values.h"
#include "tally/metrics/retrieval/kernels/tie_groups.h"
#include "tally/metrics/retrieval/retrieval_fall_out.h"
#include "tally/metrics/retrieval/retrieval_hit_rate.h"
#include "tally/metrics/retrieval/retrieval_precision.h"
#include "tally/metrics/retrieval/retrieval_precision_recall_curve.h"
#include "tally/metrics/retrieval/retrieval_r_precision.h"
#include "tally/metrics/retrieval/retrieval_recall.h"

namespace tally {
namespace {

namespace retrieval = internal::retrieval;
using retrieval::QueryValue;
using retrieval::QueryView;
using retrieval::TieGroup;

double misses_within(const QueryView& query, std::int64_t k) {
  double misses = 0;
  retrieval::for_each_group(query, k, [&](const TieGroup& group) {
    misses += group.mean_within(group.nonrelevant(), k);
  });
  return misses;
}

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

at::Tensor RetrievalPrecision::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  const bool adaptive = options().adaptive_k() || !options().top_k();
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) {
        const std::int64_t documents = adaptive ? std::min(k, query.listed) : k;
        if (documents == 0) return 0.0;
        return retrieval::hits_within(query, k) /
               static_cast<double>(documents);
      });
}

at::Tensor RetrievalRecall::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) {
        return retrieval::hits_within(query, k) /
               static_cast<double>(query.relevant);
      });
}

at::Tensor RetrievalRPrecision::evaluate(const State& state) const {
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName), [](const QueryView& query) {
        return retrieval::hits_within(query, query.relevant) /
               static_cast<double>(query.relevant);
      });
}

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

at::Tensor RetrievalHitRate::evaluate(const State& state) const {
  const std::int64_t k = retrieval::depth_of(options().top_k());
  return retrieval::evaluate_relevant(
      state.ranked().get(), options().rules(kName),
      [=](const QueryView& query) { return hit_chance(query, k); });
}

template <class Self>
void DepthOptions<Self>::validate(const char* metric) const {
  this->check_common(metric);
  retrieval::check_depth(metric, "max_k", max_k_, this->keep_top_k_);
  TORCH_CHECK_VALUE(!max_k_ || *max_k_ <= retrieval::kMostDepth, metric,
                    ": expected max_k of at most ", retrieval::kMostDepth,
                    ", got ", max_k_.value_or(0));
}

template struct DepthOptions<RetrievalPrecisionRecallCurveOptions>;
template struct DepthOptions<RetrievalRecallAtFixedPrecisionOptions>;

RetrievalPrecisionRecall RetrievalPrecisionRecallCurve::evaluate(
    const State& state) const {
  const auto [precision, recall] =
      retrieval::hit_curves(state.ranked().get(), options().rules(kName),
                            {options().max_k(), options().adaptive_k()});
  return {precision, recall, at::arange(1, precision.size(-1) + 1, at::kLong)};
}

void RetrievalRecallAtFixedPrecisionOptions::validate(
    const char* metric) const {
  DepthOptions::validate(metric);
  TORCH_CHECK_VALUE(min_precision_ >= 0 && min_precision_ <= 1, metric,
                    ": expected min_precision in [0, 1], got ", min_precision_);
}

RetrievalRecallAtDepth RetrievalRecallAtFixedPrecision::evaluate(
    const State& state) const {
  const auto curves =
      retrieval::hit_curves(state.ranked().get(), options().rules(kName),
                            {options().max_k(), options().adaptive_k()});
  const std::int64_t depth = curves.recall.size(-1);
  const at::IntArrayRef sizes = curves.recall.sizes().slice(
      0, static_cast<std::size_t>(curves.recall.dim() - 1));
  RetrievalRecallAtDepth result{at::empty(sizes, at::kDouble),
                                at::empty(sizes, at::kLong)};
  const double* precision = curves.precision.const_data_ptr<double>();
  const double* recall = curves.recall.const_data_ptr<double>();
  for (std::int64_t row = 0; row < result.recall.numel(); ++row) {
    double best = depth == 0 || std::isnan(recall[0]) ? std::nan("") : 0;
    std::int64_t best_k = std::isnan(best) ? 0 : depth;
    for (std::int64_t k = 0; k < depth; ++k) {
      if (precision[k] < options().min_precision()) continue;
      if (recall[k] > 0 && recall[k] >= best) {
        best = recall[k];
        best_k = k + 1;
      }
    }
    result.recall.mutable_data_ptr<double>()[row] = best;
    result.top_k.mutable_data_ptr<std::int64_t>()[row] = best_k;
    precision += depth;
    recall += depth;
  }
  return result;
}

template class MetricOf<RetrievalFallOut, JudgedDocuments, at::Tensor,
                        RetrievalFallOutOptions>;
template class MetricOf<RetrievalHitRate, JudgedDocuments, at::Tensor,
                        RetrievalHitRateOptions>;
template class MetricOf<RetrievalPrecision, JudgedDocuments, at::Tensor,
                        RetrievalPrecisionOptions>;
template class MetricOf<RetrievalPrecisionRecallCurve, JudgedDocuments,
                        RetrievalPrecisionRecall,
                        RetrievalPrecisionRecallCurveOptions>;
template class MetricOf<RetrievalRecallAtFixedPrecision, JudgedDocuments,
                        RetrievalRecallAtDepth,
                        RetrievalRecallAtFixedPrecisionOptions>;
template class MetricOf<RetrievalRPrecision, JudgedDocuments, at::Tensor,
                        RetrievalRPrecisionOptions>;
template class MetricOf<RetrievalRecall, JudgedDocuments, at::Tensor,
                        RetrievalRecallOptions>;

}  // namespace tally

#include "tally/metrics/retrieval/retrieval_precision_recall_curve.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/retrieval/kernels/hit_curves.h"

namespace tally {

namespace retrieval = internal::retrieval;

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

}  // namespace tally

#include "tally/metrics/classification/auroc.h"
#include "tally/metrics/classification/average_precision.h"
#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_sampling.h"
#include "tally/metrics/classification/curves/curve_values.h"
#include "tally/metrics/classification/equal_error_rate.h"
#include "tally/metrics/classification/log_auc.h"

namespace tally {

namespace classification = internal::classification;

namespace {

at::Tensor average_area(const classification::CurveView& view, Average average,
                        std::optional<double> max_fpr = std::nullopt) {
  if (!max_fpr) {
    if (const auto areas = classification::average_areas(view, average)) {
      return *areas;
    }
  }
  return classification::average_values(
      view, average, [=](const classification::ScoreCounts& counts) {
        return classification::roc_area(counts, max_fpr);
      });
}

at::Tensor average_log_area(const classification::CurveView& view,
                            Average average,
                            const std::vector<double>& fpr_range) {
  return classification::average_values(
      view, average, [&](const classification::ScoreCounts& counts) {
        return classification::log_roc_area(counts, fpr_range[0], fpr_range[1]);
      });
}

}  // namespace

void BinaryAUROCOptions::validate(const char* metric) const {
  BinaryCurveOptions::validate(metric);
  TORCH_CHECK_VALUE(!max_fpr_ || (*max_fpr_ > 0 && *max_fpr_ <= 1), metric,
                    ": expected max_fpr in (0, 1], got ", *max_fpr_);
}

at::Tensor BinaryAUROC::evaluate(const State& state) const {
  return average_area({state, options()}, Average::kNone, options().max_fpr());
}

at::Tensor MulticlassAUROC::evaluate(const State& state) const {
  return average_area({state, options()}, options().average());
}

at::Tensor MultilabelAUROC::evaluate(const State& state) const {
  return average_area({state, options()}, options().average());
}

at::Tensor BinaryLogAUC::evaluate(const State& state) const {
  return average_log_area({state, options()}, Average::kNone,
                          options().fpr_range());
}

at::Tensor MulticlassLogAUC::evaluate(const State& state) const {
  return average_log_area({state, options()}, options().average(),
                          options().fpr_range());
}

at::Tensor MultilabelLogAUC::evaluate(const State& state) const {
  return average_log_area({state, options()}, options().average(),
                          options().fpr_range());
}

at::Tensor BinaryAveragePrecision::evaluate(const State& state) const {
  return classification::average_values({state, options()}, Average::kNone,
                                        classification::average_precision);
}

at::Tensor MulticlassAveragePrecision::evaluate(const State& state) const {
  return classification::average_values({state, options()}, options().average(),
                                        classification::average_precision);
}

at::Tensor MultilabelAveragePrecision::evaluate(const State& state) const {
  return classification::average_values({state, options()}, options().average(),
                                        classification::average_precision);
}

at::Tensor BinaryEER::evaluate(const State& state) const {
  return classification::average_values({state, options()}, Average::kNone,
                                        classification::equal_error_rate);
}

at::Tensor MulticlassEER::evaluate(const State& state) const {
  return classification::average_values({state, options()}, options().average(),
                                        classification::equal_error_rate);
}

at::Tensor MultilabelEER::evaluate(const State& state) const {
  return classification::average_values({state, options()}, options().average(),
                                        classification::equal_error_rate);
}

MetricSampling BinaryAUROC::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  if (options().max_fpr()) return sampling;
  const bool is_exact = options().thresholds().exact();
  sampling.pairs = classification::pairs_of(options(), /*target_dims=*/1);
  sampling.pairs->takes_weights = is_exact;
  if (is_exact) sampling.scores = classification::scores_of(CurveArea::kRoc);
  return sampling;
}

MetricSampling MulticlassAUROC::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  if (options().average() == Average::kNone) {
    sampling.pairs = classification::pairs_of(options(), /*target_dims=*/1);
  }
  return sampling;
}

MetricSampling MultilabelAUROC::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  if (options().average() == Average::kNone) {
    sampling.pairs = classification::pairs_of(options(), /*target_dims=*/2);
  }
  return sampling;
}

MetricSampling BinaryAveragePrecision::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  if (options().thresholds().exact()) {
    sampling.scores = classification::scores_of(CurveArea::kPrecisionRecall);
    sampling.deciding = [](const AnyState& state) {
      return classification::positive_rows(state.get<CurveState>());
    };
  }
  return sampling;
}

template class MetricOf<BinaryAUROC, BinaryCurve, at::Tensor,
                        BinaryAUROCOptions>;
template class MetricOf<MulticlassAUROC, MulticlassCurve, at::Tensor,
                        MulticlassAUROCOptions>;
template class MetricOf<MultilabelAUROC, MultilabelCurve, at::Tensor,
                        MultilabelAUROCOptions>;
template class MetricOf<BinaryAveragePrecision, BinaryCurve, at::Tensor,
                        BinaryAveragePrecisionOptions>;
template class MetricOf<MulticlassAveragePrecision, MulticlassCurve, at::Tensor,
                        MulticlassAveragePrecisionOptions>;
template class MetricOf<MultilabelAveragePrecision, MultilabelCurve, at::Tensor,
                        MultilabelAveragePrecisionOptions>;
template class MetricOf<BinaryEER, BinaryCurve, at::Tensor, BinaryEEROptions>;
template class MetricOf<MulticlassEER, MulticlassCurve, at::Tensor,
                        MulticlassEEROptions>;
template class MetricOf<MultilabelEER, MultilabelCurve, at::Tensor,
                        MultilabelEEROptions>;
template class MetricOf<BinaryLogAUC, BinaryCurve, at::Tensor,
                        BinaryLogAUCOptions>;
template class MetricOf<MulticlassLogAUC, MulticlassCurve, at::Tensor,
                        MulticlassLogAUCOptions>;
template class MetricOf<MultilabelLogAUC, MultilabelCurve, at::Tensor,
                        MultilabelLogAUCOptions>;

}  // namespace tally

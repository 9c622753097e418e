#include <c10/util/Exception.h>

#include <cmath>

#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/jaccard_index.h"
#include "tally/metrics/classification/negative_predictive_value.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/classification/specificity.h"

namespace tally {
namespace internal::classification {

void check_beta(const char* metric, double beta) {
  TORCH_CHECK_VALUE(beta >= 0 && std::isfinite(beta), metric,
                    ": expected beta of at least 0, got ", beta);
}

}  // namespace internal::classification

namespace classification = internal::classification;

namespace {

auto f_score(double beta, double zero) {
  return [=](const classification::ClassCounts& c) {
    const double b2 = beta * beta;
    return classification::divide((1 + b2) * c.tp, b2 * c.target + c.predicted,
                                  zero);
  };
}

}  // namespace

at::Tensor BinaryFBetaScore::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro,
                f_score(options().beta(), options().zero_division()));
}

at::Tensor BinaryF1Score::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, f_score(1, options().zero_division()));
}

at::Tensor MulticlassFBetaScore::evaluate(const State& state) const {
  return classification::average_classes(
      state, options(), f_score(options().beta(), options().zero_division()));
}

at::Tensor MulticlassF1Score::evaluate(const State& state) const {
  return classification::average_classes(state, options(),
                                         f_score(1, options().zero_division()));
}

at::Tensor MultilabelFBetaScore::evaluate(const State& state) const {
  return classification::average_labels(
      state, options(), f_score(options().beta(), options().zero_division()));
}

at::Tensor MultilabelF1Score::evaluate(const State& state) const {
  return classification::average_labels(state, options(),
                                        f_score(1, options().zero_division()));
}

at::Tensor MulticlassJaccardIndex::evaluate(const State& state) const {
  const auto value = classification::share_of(kRate, options().zero_division());
  if (options().average() == Average::kMicro) {
    // A wrong prediction is in the union of its target's class already.
    return classification::rows_of(state, options())
        .values([&](const classification::CountsRow& row) {
          return row.micro(value, options().ignore_index());
        });
  }
  return classification::average_classes(state, options(), value);
}

template class MetricOf<BinaryFBetaScore, BinaryCounts, at::Tensor,
                        BinaryFBetaScoreOptions>;
template class MetricOf<BinaryF1Score, BinaryCounts, at::Tensor,
                        BinaryF1ScoreOptions>;
template class MetricOf<MulticlassFBetaScore, MulticlassCounts, at::Tensor,
                        MulticlassFBetaScoreOptions>;
template class MetricOf<MulticlassF1Score, MulticlassCounts, at::Tensor,
                        MulticlassF1ScoreOptions>;
template class MetricOf<MultilabelFBetaScore, MultilabelCounts, at::Tensor,
                        MultilabelFBetaScoreOptions>;
template class MetricOf<MultilabelF1Score, MultilabelCounts, at::Tensor,
                        MultilabelF1ScoreOptions>;
template class MetricOf<BinaryJaccardIndex, BinaryCounts, at::Tensor,
                        BinaryJaccardIndexOptions>;
template class MetricOf<MulticlassJaccardIndex, MulticlassCounts, at::Tensor,
                        MulticlassJaccardIndexOptions>;
template class MetricOf<MultilabelJaccardIndex, MultilabelCounts, at::Tensor,
                        MultilabelJaccardIndexOptions>;
template class MetricOf<BinaryNegativePredictiveValue, BinaryCounts, at::Tensor,
                        BinaryNegativePredictiveValueOptions>;
template class MetricOf<MulticlassNegativePredictiveValue, MulticlassCounts,
                        at::Tensor, MulticlassNegativePredictiveValueOptions>;
template class MetricOf<MultilabelNegativePredictiveValue, MultilabelCounts,
                        at::Tensor, MultilabelNegativePredictiveValueOptions>;
template class MetricOf<BinaryPrecision, BinaryCounts, at::Tensor,
                        BinaryPrecisionOptions>;
template class MetricOf<MulticlassPrecision, MulticlassCounts, at::Tensor,
                        MulticlassPrecisionOptions>;
template class MetricOf<MultilabelPrecision, MultilabelCounts, at::Tensor,
                        MultilabelPrecisionOptions>;
template class MetricOf<BinaryRecall, BinaryCounts, at::Tensor,
                        BinaryRecallOptions>;
template class MetricOf<MulticlassRecall, MulticlassCounts, at::Tensor,
                        MulticlassRecallOptions>;
template class MetricOf<MultilabelRecall, MultilabelCounts, at::Tensor,
                        MultilabelRecallOptions>;
template class MetricOf<BinarySpecificity, BinaryCounts, at::Tensor,
                        BinarySpecificityOptions>;
template class MetricOf<MulticlassSpecificity, MulticlassCounts, at::Tensor,
                        MulticlassSpecificityOptions>;
template class MetricOf<MultilabelSpecificity, MultilabelCounts, at::Tensor,
                        MultilabelSpecificityOptions>;

}  // namespace tally

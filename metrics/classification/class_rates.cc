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

auto precision(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tp, c.predicted, zero);
  };
}

auto recall(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tp, c.target, zero);
  };
}

auto specificity(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tn(), c.total - c.target, zero);
  };
}

auto negative_predictive_value(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tn(), c.total - c.predicted, zero);
  };
}

auto f_score(double beta, double zero) {
  return [=](const classification::ClassCounts& c) {
    const double b2 = beta * beta;
    return classification::divide((1 + b2) * c.tp, b2 * c.target + c.predicted,
                                  zero);
  };
}

auto jaccard_index(double zero) {
  return [zero](const classification::ClassCounts& c) {
    return classification::divide(c.tp, c.predicted + c.fn(), zero);
  };
}

}  // namespace

at::Tensor BinaryPrecision::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, precision(options().zero_division()));
}

at::Tensor MulticlassPrecision::evaluate(const State& state) const {
  return classification::average_classes(state, options(),
                                         precision(options().zero_division()));
}

at::Tensor MultilabelPrecision::evaluate(const State& state) const {
  return classification::average_labels(state, options(),
                                        precision(options().zero_division()));
}

at::Tensor BinaryRecall::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, recall(options().zero_division()));
}

at::Tensor MulticlassRecall::evaluate(const State& state) const {
  return classification::average_classes(state, options(),
                                         recall(options().zero_division()));
}

at::Tensor MultilabelRecall::evaluate(const State& state) const {
  return classification::average_labels(state, options(),
                                        recall(options().zero_division()));
}

at::Tensor BinarySpecificity::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, specificity(options().zero_division()));
}

at::Tensor MulticlassSpecificity::evaluate(const State& state) const {
  return classification::average_classes(
      state, options(), specificity(options().zero_division()));
}

at::Tensor MultilabelSpecificity::evaluate(const State& state) const {
  return classification::average_labels(state, options(),
                                        specificity(options().zero_division()));
}

at::Tensor BinaryNegativePredictiveValue::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro,
                negative_predictive_value(options().zero_division()));
}

at::Tensor MulticlassNegativePredictiveValue::evaluate(
    const State& state) const {
  return classification::average_classes(
      state, options(), negative_predictive_value(options().zero_division()));
}

at::Tensor MultilabelNegativePredictiveValue::evaluate(
    const State& state) const {
  return classification::average_labels(
      state, options(), negative_predictive_value(options().zero_division()));
}

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

at::Tensor BinaryJaccardIndex::evaluate(const State& state) const {
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, jaccard_index(options().zero_division()));
}

at::Tensor MulticlassJaccardIndex::evaluate(const State& state) const {
  const auto value = jaccard_index(options().zero_division());
  if (options().average() == Average::kMicro) {
    // A wrong prediction is in the union of its target's class already.
    return classification::rows_of(state, options())
        .values([&](const classification::CountsRow& row) {
          return row.micro(value, options().ignore_index());
        });
  }
  return classification::average_classes(state, options(), value);
}

at::Tensor MultilabelJaccardIndex::evaluate(const State& state) const {
  return classification::average_labels(
      state, options(), jaccard_index(options().zero_division()));
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

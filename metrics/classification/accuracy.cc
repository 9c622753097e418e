#include "tally/metrics/classification/accuracy.h"

#include <cmath>

#include "tally/metrics/classification/balanced_accuracy.h"
#include "tally/metrics/classification/exact_match.h"
#include "tally/metrics/classification/hamming_distance.h"
#include "tally/metrics/common/constants.h"

namespace tally {

namespace classification = internal::classification;

namespace {

class MeanRecall {
 public:
  void add(double found, double targets) {
    if (targets == 0) return;
    sum_ += found / targets;
    ++classes_;
  }
  double value(bool adjusted) const {
    const double mean = classes_ > 0 ? sum_ / classes_ : internal::kNaN;
    if (!adjusted) return mean;
    return classes_ > 1 ? (mean * classes_ - 1) / (classes_ - 1)
                        : internal::kNaN;
  }

 private:
  double sum_ = 0;
  double classes_ = 0;
};

bool is_global(MultidimAverage average) {
  return average == MultidimAverage::kGlobal;
}

}  // namespace

MetricSampling BinaryBalancedAccuracy::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  if (!options().adjusted()) sampling.range = {0, 1};
  return sampling;
}

MetricSampling MulticlassBalancedAccuracy::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  if (!options().adjusted()) sampling.range = {0, 1};
  return sampling;
}

at::Tensor BinaryBalancedAccuracy::evaluate(const State& state) const {
  const auto value = [this](const classification::ClassCounts& c) {
    MeanRecall mean;
    mean.add(c.tp, c.target);
    mean.add(c.tn(), c.total - c.target);
    return mean.value(options().adjusted());
  };
  return classification::rows_of(state, options().multidim_average())
      .averages(Average::kMicro, value);
}

at::Tensor MulticlassBalancedAccuracy::evaluate(const State& state) const {
  return classification::rows_of(state, options())
      .values([this](const auto& row) {
        if (row.classes.front().nans > 0) return internal::kNaN;
        MeanRecall mean;
        for (const auto& c : row.classes) mean.add(c.tp, c.target);
        return mean.value(options().adjusted());
      });
}

at::Tensor MulticlassHammingDistance::evaluate(const State& state) const {
  const auto value =
      [zero = options().zero_division()](const classification::ClassCounts& c) {
        if (c.target > 0) return 1 - c.tp / c.target;
        return c.predicted > 0 && !std::isnan(zero) ? 1 : zero;
      };
  return classification::average_classes(state, options(), value);
}

MetricSampling BinaryAccuracy::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  if (is_global(options().multidim_average())) {
    sampling.matches = classification::binary_matches(
        {options().threshold(), options().input(), options().ignore_index(),
         metric_options().nan_policy(), metric_options().validate_args(),
         /*takes_scores=*/true});
  }
  return sampling;
}

MetricSampling MulticlassAccuracy::sampling() const {
  MetricSampling sampling = MetricOf::sampling();
  if (is_global(options().multidim_average()) &&
      options().average() == Average::kMicro) {
    sampling.matches = classification::class_matches(
        {options().num_classes(), options().top_k(), options().ignore_index(),
         metric_options().nan_policy(), metric_options().validate_args()},
        /*target_dims=*/1);
  }
  return sampling;
}

template class MetricOf<BinaryAccuracy, BinaryCounts, at::Tensor,
                        BinaryAccuracyOptions>;
template class MetricOf<MulticlassAccuracy, MulticlassCounts, at::Tensor,
                        MulticlassAccuracyOptions>;
template class MetricOf<MultilabelAccuracy, MultilabelCounts, at::Tensor,
                        MultilabelAccuracyOptions>;
template class MetricOf<BinaryBalancedAccuracy, BinaryCounts, at::Tensor,
                        BinaryBalancedAccuracyOptions>;
template class MetricOf<MulticlassBalancedAccuracy, MulticlassCounts,
                        at::Tensor, MulticlassBalancedAccuracyOptions>;
template class MetricOf<BinaryHammingDistance, BinaryCounts, at::Tensor,
                        BinaryHammingDistanceOptions>;
template class MetricOf<MulticlassHammingDistance, MulticlassCounts, at::Tensor,
                        MulticlassHammingDistanceOptions>;
template class MetricOf<MultilabelHammingDistance, MultilabelCounts, at::Tensor,
                        MultilabelHammingDistanceOptions>;

}  // namespace tally

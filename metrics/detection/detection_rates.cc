#include "tally/metrics/detection/detection_rates.h"

#include <vector>

#include "tally/metrics/classification/counts/class_counts.h"
#include "tally/metrics/classification/counts/confusion_values.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/metrics/detection/detection_confusion_matrix.h"
#include "tally/state/number.h"

namespace tally {

namespace classification = internal::classification;
using classification::ClassCounts;
using classification::ClassValue;
using classification::divide;

namespace {

std::vector<ClassCounts> class_counts(const MulticlassConfusion::State& state,
                                      std::int64_t num_classes) {
  const std::int64_t size = num_classes + 1;
  const at::Tensor matrix =
      classification::confusion_matrix_of(state, size, Normalize::kNone)
          .contiguous();
  const auto* cell = matrix.const_data_ptr<std::int64_t>();
  std::vector<ClassCounts> counts(static_cast<std::size_t>(size));
  double total = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      const auto count = static_cast<double>(cell[i * size + j]);
      counts[static_cast<std::size_t>(i)].target += count;
      counts[static_cast<std::size_t>(j)].predicted += count;
      if (i == j) counts[static_cast<std::size_t>(i)].tp = count;
      total += count;
    }
  }
  // The background is no class.
  counts.pop_back();
  for (ClassCounts& each : counts) each.total = total;
  return counts;
}

at::Tensor rate_of(const MulticlassConfusion::State& state,
                   const DetectionRateOptions& options, ClassValue value) {
  const std::vector<ClassCounts> counts =
      class_counts(state, options.num_classes());
  const classification::CountsRow all{counts};
  switch (options.average()) {
    case Average::kMicro:
      return internal::scalar_tensor(all.micro(value));
    case Average::kNone: {
      std::vector<double> values;
      for (const ClassCounts& each : counts) {
        values.push_back(classification::CountsRow{each}.micro(value));
      }
      return internal::tensor_of(values);
    }
    default:
      return internal::scalar_tensor(
          all.macro(options.average() == Average::kWeighted,
                    /*occurring_only=*/true, /*left_out=*/std::nullopt, value));
  }
}

}  // namespace

void DetectionRateOptions::validate(const char* metric) const {
  DetectionCountOptions::validate(metric);
  classification::check_zero_division(metric, zero_division_);
}

at::Tensor DetectionConfusionMatrix::evaluate(const State& state) const {
  return classification::confusion_matrix_of(state, options().num_classes() + 1,
                                             options().normalize());
}

at::Tensor DetectionPrecision::evaluate(const State& state) const {
  return rate_of(state, options(), [this](const ClassCounts& c) {
    return divide(c.tp, c.predicted, options().zero_division());
  });
}

at::Tensor DetectionRecall::evaluate(const State& state) const {
  return rate_of(state, options(), [this](const ClassCounts& c) {
    return divide(c.tp, c.target, options().zero_division());
  });
}

at::Tensor DetectionF1Score::evaluate(const State& state) const {
  return rate_of(state, options(), [this](const ClassCounts& c) {
    return divide(2 * c.tp, c.target + c.predicted, options().zero_division());
  });
}

template class MetricOf<DetectionConfusionMatrix, DetectedPairs, at::Tensor,
                        DetectionConfusionMatrixOptions>;
template class MetricOf<DetectionPrecision, DetectedPairs, at::Tensor,
                        DetectionRateOptions>;
template class MetricOf<DetectionRecall, DetectedPairs, at::Tensor,
                        DetectionRateOptions>;
template class MetricOf<DetectionF1Score, DetectedPairs, at::Tensor,
                        DetectionRateOptions>;

}  // namespace tally

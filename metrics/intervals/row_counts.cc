#include "tally/metrics/intervals/row_counts.h"

#include <type_traits>

#include "tally/metrics/classification/accuracy.h"
#include "tally/metrics/classification/balanced_accuracy.h"
#include "tally/metrics/classification/f_score.h"
#include "tally/metrics/classification/precision.h"
#include "tally/metrics/classification/recall.h"
#include "tally/metrics/intervals/count_inputs.h"

namespace tally::internal::intervals {

at::Tensor row_counts(const Metric& metric, Inputs inputs) {
  if (inputs.size() < 2 || (inputs.size() > 2 && !inputs[2].is_none())) {
    return {};
  }
  const auto* const preds = inputs[0].as<at::Tensor>();
  const auto* const target = inputs[1].as<at::Tensor>();
  if (preds == nullptr || target == nullptr || target->dim() != 1 ||
      !target->is_cpu() || !preds->is_cpu()) {
    return {};
  }
  at::Tensor counts;
  visit_metric<BinaryAccuracy, BinaryBalancedAccuracy, BinaryF1Score,
               BinaryFBetaScore, BinaryPrecision, BinaryRecall>(
      metric, [&](const auto& m) {
        if (m.options().multidim_average() != MultidimAverage::kGlobal) return;
        auto options = m.options();
        options.multidim_average(MultidimAverage::kSamplewise);
        const BinaryCounts samples(options, m.metric_options());
        counts = samples.observe(*preds, *target)
                     .samples.tensor()
                     .reshape({target->size(0), -1})
                     .to(at::kDouble);
      });
  return counts;
}

}  // namespace tally::internal::intervals

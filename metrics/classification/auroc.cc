#include "tally/metrics/classification/auroc.h"

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_values.h"

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

}  // namespace tally

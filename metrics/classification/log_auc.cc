#include "tally/metrics/classification/log_auc.h"

#include "tally/metrics/classification/curves/curve_counts.h"
#include "tally/metrics/classification/curves/curve_values.h"

namespace tally {

namespace classification = internal::classification;

namespace {

at::Tensor average_log_area(const classification::CurveView& view,
                            Average average,
                            const std::vector<double>& fpr_range) {
  return classification::average_values(
      view, average, [&](const classification::ScoreCounts& counts) {
        return classification::log_roc_area(counts, fpr_range[0], fpr_range[1]);
      });
}

}  // namespace

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

}  // namespace tally

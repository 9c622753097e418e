#include "tally/metrics/classification/multiclass_auroc.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tally/metrics/classification/roc_area.h"

namespace tally {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct ClassArea {
  double area = kNaN;
  double samples = 0;
  bool has_nan = false;
};

double averaged(const std::vector<ClassArea>& classes, Average average) {
  double sum = 0;
  double weights = 0;
  for (const ClassArea& c : classes) {
    if (c.has_nan) return kNaN;
    if (std::isnan(c.area)) continue;
    const double weight = average == Average::kWeighted ? c.samples : 1;
    sum += weight * c.area;
    weights += weight;
  }
  return sum / weights;
}

}  // namespace

void MulticlassAUROCOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(num_classes_ >= 2, metric,
                    ": expected num_classes to be at least 2, got ",
                    num_classes_);
  TORCH_CHECK_VALUE(average_ != Average::kMicro, metric,
                    ": expected average macro, weighted or none, got micro");
  thresholds_.validate(metric);
}

at::Tensor MulticlassAUROC::evaluate(const State& state) const {
  std::vector<ClassArea> classes(options().num_classes());
  internal::visit_class_scores(
      state, options().num_classes(), options().input(),
      [&](std::int64_t c, const std::optional<internal::ScoreCounts>& counts) {
        ClassArea& result = classes[c];
        result.has_nan = !counts;
        if (!counts) return;
        std::visit(
            [&](const auto& ranked) {
              result.area = internal::roc_area(ranked);
              result.samples = static_cast<double>(ranked.positives());
            },
            *counts);
      });
  if (options().average() != Average::kNone) {
    return Number(averaged(classes, options().average()));
  }
  const at::Tensor areas = at::empty({options().num_classes()}, at::kDouble);
  auto* const values = areas.mutable_data_ptr<double>();
  for (std::size_t c = 0; c < classes.size(); ++c) values[c] = classes[c].area;
  return areas;
}

}  // namespace tally

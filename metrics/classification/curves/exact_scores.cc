#include "tally/metrics/classification/curves/exact_scores.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>

namespace tally::internal::classification {
namespace {

at::Tensor joined(const at::Tensor& plain, const at::Tensor& weighted) {
  return at::cat({plain, weighted.to(plain.device())});
}

}  // namespace

ExactScores::ExactScores(const CurveView& view)
    : shape(view.shape), input(view.input) {
  const auto read = [&](const CurveSamples& samples) {
    check_state(samples.preds.defined() && samples.target.defined());
    preds = samples.preds.tensor().contiguous();
    target = samples.target.tensor().contiguous();
    const bool binary = shape.task == CurveShape::Task::kBinary;
    check_state(preds.dim() == (binary ? 1 : 2) &&
                (binary || preds.size(1) == shape.curves) &&
                preds.is_floating_point() &&
                (has_codes()
                     ? preds.sizes() == target.sizes()
                     : target.dim() == 1 && target.size(0) == preds.size(0)) &&
                target.scalar_type() == (has_codes() ? at::kByte : at::kLong));
  };
  const CurveState& state = view.state;
  if (!state.weighted.has_rows()) {
    read(state.unweighted);
    return;
  }
  read(state.weighted);
  check_state(state.weights.defined());
  weights = state.weights.tensor().contiguous();
  check_state(weights.scalar_type() == at::kDouble && weights.dim() == 1 &&
              weights.size(0) == rows());
  if (!state.unweighted.has_rows()) return;
  const at::Tensor more_preds = preds;
  const at::Tensor more_target = target;
  read(state.unweighted);
  weights =
      joined(at::ones({rows()}, preds.options().dtype(at::kDouble)), weights);
  preds = joined(preds, more_preds);
  target = joined(target, more_target);
}

}  // namespace tally::internal::classification

#include "tally/metrics/regression/states/sample_pairs.h"

#include "tally/metrics/checks.h"
#include "tally/metrics/regression/inputs/inputs.h"

namespace tally {

namespace regression = internal::regression;

namespace {

at::Tensor kept_form(const at::Tensor& input, std::int64_t num_outputs) {
  const at::ScalarType dtype = input.scalar_type();
  const bool narrow =
      dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16;
  at::Tensor kept = input.requires_grad() ? input.detach() : input;
  const at::ScalarType wanted = narrow ? at::kFloat : at::kDouble;
  if (dtype != wanted) kept = kept.to(wanted);
  return num_outputs == 1 && kept.dim() != 1 ? kept.reshape(-1) : kept;
}

}  // namespace

SamplePairs::State SamplePairs::observe(const at::Tensor& preds,
                                        const at::Tensor& target) const {
  regression::check_columns(preds, target, num_outputs_);
  const auto state = [this](const at::Tensor& p, const at::Tensor& t) {
    return State{Rows(kept_form(p, num_outputs_)),
                 Rows(kept_form(t, num_outputs_))};
  };
  if (nan_policy_ == NanPolicy::kPropagate) return state(preds, target);
  if (preds.is_cpu() && !internal::has_nan(preds) &&
      !internal::has_nan(target)) {
    return state(preds, target);
  }
  const at::Tensor no_weight;
  const regression::KeptSamples kept = regression::handle_nan(
      {preds, target, no_weight}, num_outputs_, nan_policy_);
  return state(kept.preds, kept.target);
}

}  // namespace tally

#include "tally/metrics/wrappers/input_transformer.h"

#include <cmath>
#include <vector>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/core/metric_traits.h"

namespace tally {

void MetricInputTransformer::observe_into(AnyState& fresh, Inputs inputs,
                                          const BatchOrigin& origin) const {
  constexpr std::size_t kTransformed = 2;
  at::Tensor transformed[kTransformed];
  std::vector<InputRef> given = inputs.vec();
  for (std::size_t i = 0; i < kTransformed && i < given.size(); ++i) {
    const auto* input = given[i].as<at::Tensor>();
    if (!input) {
      internal::refuse_input_type(name().c_str(), i, metric().inputs(),
                                  typeid(at::Tensor), given[i].type());
    }
    transformed[i] =
        i == 0 ? transform_preds(*input) : transform_target(*input);
    given[i] = InputRef::of(transformed[i]);
  }
  metric().observe_into(fresh, given, origin);
}

void MetricInputTransformer::evaluate_into(const AnyState& state,
                                           const std::string& name,
                                           Results& results) const {
  add_results(results_of(state), name, results);
}

void MetricInputTransformer::compute_into(const AnyState& state, AnyState& kept,
                                          const std::string& name,
                                          Results& results) const {
  Results inner;
  metric().compute_into(state, kept, "", inner);
  add_results(std::move(inner), name, results);
}

StateKey MetricInputTransformer::key() const {
  return name() + "(" + options_text() + "; " + metric().state_key() + ")";
}

void LambdaInputTransformerOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!label_.empty(), metric,
                    ": expected a label for the functions, got none");
  TORCH_CHECK_VALUE(preds_ || target_, metric,
                    ": expected a function for preds or for target, got none");
}

LambdaInputTransformer::LambdaInputTransformer(OwnedMetric metric,
                                               Options options)
    : MetricInputTransformer(kName, std::move(metric)),
      options_(std::move(options)) {
  options_.validate(kName);
  set_state();
}

at::Tensor LambdaInputTransformer::transform_preds(
    const at::Tensor& preds) const {
  return options_.preds() ? options_.preds()(preds) : preds;
}

at::Tensor LambdaInputTransformer::transform_target(
    const at::Tensor& target) const {
  return options_.target() ? options_.target()(target) : target;
}

void BinaryTargetTransformerOptions::validate(const char* metric) const {
  TORCH_CHECK_VALUE(!std::isnan(threshold_), metric,
                    ": expected threshold to be a number, got NaN");
}

BinaryTargetTransformer::BinaryTargetTransformer(OwnedMetric metric,
                                                 Options options)
    : MetricInputTransformer(kName, std::move(metric)), options_(options) {
  options_.validate(kName);
  set_state();
  inputs_ = this->metric().inputs().vec();
  change_inputs(inputs_);
}

void BinaryTargetTransformer::change_inputs(std::vector<InputInfo>& inputs) {
  if (inputs.size() < 2) return;
  inputs[1].kind = InputKind::kReal;
  inputs[1].words = "real [N, ...]";
}

at::Tensor BinaryTargetTransformer::transform_target(
    const at::Tensor& target) const {
  try {
    internal::check_real("target", target);
  } catch (c10::Error& error) {
    error.add_context(kName);
    throw;
  }
  return target.gt(options_.threshold()).to(at::kLong);
}

}  // namespace tally

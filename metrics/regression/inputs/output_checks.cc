#include "tally/metrics/regression/inputs/output_checks.h"

#include <ATen/ops/full.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include "tally/metrics/common/checks.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"
#include "tally/metrics/regression/inputs/outputs_options.h"

namespace tally::internal::regression {

void check_num_outputs(const char* metric, std::int64_t num_outputs) {
  TORCH_CHECK_VALUE(num_outputs >= 1, metric,
                    ": expected num_outputs of at least 1, got ", num_outputs);
}

void check_outputs(const at::Tensor& preds, const at::Tensor& target,
                   std::int64_t num_outputs) {
  check_real("preds", preds);
  check_real("target", target);
  check_same_shape("preds", preds, "target", target);
  TORCH_CHECK_VALUE(
      num_outputs == 1 || (preds.dim() == 2 && preds.size(1) == num_outputs),
      "expected preds and target of shape [N, ", num_outputs, "], got ",
      preds.sizes(),
      preds.dim() == 1 ? c10::str("; one row is [1, ", num_outputs, "]")
                       : std::string());
}

void check_columns(const at::Tensor& preds, const at::Tensor& target,
                   std::int64_t num_outputs) {
  check_outputs(preds, target, num_outputs);
  TORCH_CHECK_VALUE(num_outputs > 1 || preds.dim() != 2 || preds.size(1) == 1,
                    "expected preds and target of shape [N] or [N, 1], or of "
                    "more than two dimensions, got ",
                    preds.sizes(),
                    ": set num_outputs for several outputs, or flatten them");
}

void check_rows(const char* a_input, const at::Tensor& a, const char* b_input,
                const at::Tensor& b) {
  check_real(a_input, a);
  check_real(b_input, b);
  check_same_shape(a_input, a, b_input, b);
  TORCH_CHECK_VALUE(a.dim() == 2 && a.size(1) > 0, "expected ", a_input,
                    " and ", b_input, " of shape [N, D], D at least 1, got ",
                    a.sizes());
}

void check_weight(const at::Tensor& preds, const at::Tensor& weight,
                  std::int64_t num_outputs, bool validate) {
  check_real("weight", weight);
  check_same_device("preds", preds, "weight", weight);
  const std::int64_t samples = preds.numel() / num_outputs;
  TORCH_CHECK_VALUE(
      num_outputs == 1 ? weight.sizes() == preds.sizes() ||
                             (preds.dim() == 2 && preds.size(1) == 1 &&
                              weight.dim() == 1 && weight.size(0) == samples)
                       : weight.dim() == 1 && weight.size(0) == samples,
      "expected weight of ", num_outputs == 1 ? "the shape of preds" : "[N]",
      ", got ", weight.sizes(), " for preds of ", preds.sizes());
  if (!validate || !has_negative(weight)) return;
  const at::Tensor places = weight.reshape(-1).lt(0).nonzero();
  const auto place = places[0].item<std::int64_t>();
  TORCH_CHECK_VALUE(false, "expected weight of at least 0, got ",
                    weight.reshape(-1)[place].item<double>(), " at position ",
                    place);
}

std::string first_invalid(const at::Tensor& preds, const at::Tensor& target,
                          c10::function_ref<bool(double, double)> valid) {
  const auto flat = [](const at::Tensor& tensor) {
    return tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  };
  const at::Tensor p = flat(preds);
  const at::Tensor t = flat(target);
  const auto* const a = p.const_data_ptr<double>();
  const auto* const b = t.const_data_ptr<double>();
  std::int64_t i = 0;
  while (i + 1 < p.numel() && valid(a[i], b[i])) ++i;
  return c10::str(a[i], " as preds and ", b[i], " as target at position ", i);
}

bool has_negative(const at::Tensor& tensor) {
  if (!is_plain(tensor)) return tensor.lt(0).any().item().toBool();
  return visit_values(tensor, [&](const auto* data) {
    bool found = false;
    for (std::int64_t i = 0; i < tensor.numel(); ++i) found |= data[i] < 0;
    return found;
  });
}

bool Samples::are_plain() const {
  return is_plain(preds) && is_plain(target) &&
         (!weight.defined() || is_plain(weight));
}

KeptSamples handle_nan(const Samples& samples, std::int64_t num_outputs,
                       NanPolicy policy) {
  const auto& [preds, target, weight] = samples;
  if (policy == NanPolicy::kError) {
    const auto check = [](const char* input, const at::Tensor& tensor) {
      TORCH_CHECK_VALUE(!tensor.defined() || !has_nan(tensor), "expected ",
                        input, " without NaN, got some");
    };
    check("preds", preds);
    check("target", target);
    check("weight", weight);
    return {preds, target, weight};
  }
  at::Tensor nan = preds.isnan().logical_or(target.isnan());
  nan = num_outputs == 1 ? nan.reshape(-1) : nan.any(1);
  if (weight.defined()) nan = nan.logical_or(weight.isnan().reshape(-1));
  const at::Tensor kept = nan.logical_not().nonzero().squeeze(1);
  const auto keep = [&](const at::Tensor& input) {
    return (num_outputs == 1 ? input.reshape(-1) : input).index_select(0, kept);
  };
  return {keep(preds), keep(target),
          weight.defined() ? weight.reshape(-1).index_select(0, kept) : weight};
}

at::Tensor undefined_outputs(std::int64_t num_outputs) {
  return at::full({num_outputs}, kNaN, at::kDouble);
}

at::Tensor undefined_unless(bool is_defined, const at::Tensor& value) {
  if (is_defined) return value;
  return value.masked_fill(value.eq(value).logical_or(value.ne(value)), kNaN);
}

at::Tensor root(const at::Tensor& value) {
  const at::Tensor zero = value.eq(0);
  return value.masked_fill(zero, 1).sqrt().masked_fill(zero, 0);
}

}  // namespace tally::internal::regression

namespace tally {

void OutputsOptions::validate(const char* metric) const {
  internal::regression::check_num_outputs(metric, num_outputs_);
}

}  // namespace tally

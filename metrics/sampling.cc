#include "tally/metrics/sampling.h"

#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <numeric>

#include "tally/metrics/metric.h"

namespace tally {

MetricSampling Metric::sampling() const { return {}; }

ScoredSamples scored_samples(const at::Tensor& scores, const at::Tensor& target,
                             const at::Tensor& weight) {
  ScoredSamples samples;
  samples.is_weighted = weight.defined();
  const auto* const score = scores.const_data_ptr<double>();
  const auto* const label = target.const_data_ptr<double>();
  const auto* const weights =
      samples.is_weighted ? weight.const_data_ptr<double>() : nullptr;
  std::vector<std::size_t> order(static_cast<std::size_t>(scores.numel()));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
  double last = 0;
  for (const std::size_t row : order) {
    const double w = weights == nullptr ? 1 : weights[row];
    if (w == 0) continue;
    if (samples.groups.empty() || score[row] != last) {
      samples.groups.emplace_back();
      last = score[row];
    }
    ScoreGroup& group = samples.groups.back();
    const bool is_positive = label[row] == 1;
    (is_positive ? group.positives : group.negatives) += w;
    (is_positive ? group.squared_positives : group.squared_negatives) += w * w;
    ++(is_positive ? samples.positives : samples.negatives);
  }
  return samples;
}

namespace internal {

at::Tensor float64_column(Inputs inputs, std::size_t place) {
  const auto* const tensor = inputs[place].as<at::Tensor>();
  if (tensor == nullptr || tensor->dim() != 1 || !tensor->is_cpu() ||
      tensor->isnan().any().item<bool>()) {
    return {};
  }
  return tensor->detach().to(at::kDouble).contiguous();
}

at::Tensor weighted_terms(const at::Tensor& terms, Inputs inputs,
                          std::size_t place) {
  if (inputs.size() <= place || inputs[place].is_none()) {
    return at::stack({terms, at::ones_like(terms)}, 1);
  }
  const at::Tensor weight = float64_column(inputs, place);
  if (!weight.defined() || weight.sizes() != terms.sizes()) return {};
  return at::stack({terms.mul(weight), weight}, 1);
}

}  // namespace internal
}  // namespace tally

#include "tally/losses/gradient_reference.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cmath>

#include "tally/losses/gradient_comparison.h"

namespace tally::losses::internal {
namespace {

/// Of one element.
double typical(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  return norm_of(tensor) / std::sqrt(static_cast<double>(tensor.numel()));
}

double size_of(const at::Tensor& gradient) {
  return gradient.defined() ? norm_of(gradient) : 0;
}

}  // namespace

ReferenceCheck check_reference(const std::vector<ReferenceGradient>& gradients,
                               double loss) {
  constexpr double kStep = 1e-5;
  // What the loss changes by when something changes as a whole.
  double scale = std::max(0.1, std::abs(loss));
  for (const ReferenceGradient& one : gradients) {
    const double change =
        size_of(one.gradient) * norm_of(one.at.detach().cpu());
    if (std::isfinite(change)) scale = std::max(scale, change);
  }
  ReferenceCheck result;
  std::uint64_t seed = 0;
  for (const ReferenceGradient& one : gradients) {
    if (one.at.scalar_type() != at::kDouble) {
      result.unchecked.push_back(one.name);
      continue;
    }
    const double size = size_of(one.gradient);
    if (!std::isfinite(size)) continue;
    const at::Tensor point = one.at.detach();
    const double spread = typical(point.cpu());
    const at::Tensor direction =
        at::randn(point.sizes(), at::detail::createCPUGenerator(seed++),
                  at::kDouble)
            .mul(spread > 0 ? spread : 1);
    const auto loss_at = [&](double step) {
      return one.loss(point.add(direction.to(point.device()), step));
    };
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    const double expected =
        size == 0 ? 0 : one.gradient.mul(direction).sum().item<double>();
    const double noise = 1e-5 * size * typical(direction) + 1e-9 * scale;
    if (!(std::abs(slope - expected) <= noise)) result.cut.push_back(one.name);
  }
  return result;
}

}  // namespace tally::losses::internal

#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include <cstdint>
#include <functional>

#include "tally/losses/losses.h"

/// Losses as functions of two views' features, for tests of what all of them
/// have in common.
namespace tally::losses {

using TwoViewLoss =
    std::function<at::Tensor(const at::Tensor& a, const at::Tensor& b)>;

/// A rank's rows: the more the higher the rank.
inline at::Tensor rows_of(int rank, std::uint64_t seed) {
  return at::randn({5 + rank, 4}, at::detail::createCPUGenerator(seed),
                   at::kFloat);
}

template <class Module>
TwoViewLoss of_two(Module module) {
  return [module](const at::Tensor& a, const at::Tensor& b) mutable {
    return module->forward(a, b);
  };
}

inline at::Tensor logit_scale() { return at::full({}, 5.0f); }

inline TwoViewLoss clip(const ClipLossOptions& options) {
  return [loss = ClipLoss(options), scale = logit_scale()](
             const at::Tensor& a, const at::Tensor& b) mutable {
    return loss->forward(a, b, scale);
  };
}

inline TwoViewLoss sig_lip(SigLipExchange exchange) {
  return [loss = SigLipLoss(SigLipLossOptions().exchange(exchange)),
          scale = logit_scale(), bias = logit_scale().neg()](
             const at::Tensor& a, const at::Tensor& b) mutable {
    return loss->forward(a, b, scale, bias);
  };
}

}  // namespace tally::losses

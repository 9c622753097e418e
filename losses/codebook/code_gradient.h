#pragma once

#include <ATen/core/Tensor.h>

#include "tally/metrics/options.h"

namespace tally::losses {

/// The gradient of a latent through the code that replaces it.
enum class CodeGradient {
  /// The gradient of the code, unchanged.
  kStraightThrough,
  /// The gradient of the code, rotated back by the rotation from the latent's
  /// direction to the code's, and scaled by the ratio of their lengths (arXiv
  /// 2410.06424).
  kRotation,
};

namespace internal {

/// The values of `code` with the gradient of `latent`; both are vectors along
/// the last dimension. Second-order gradients are supported: the rotation
/// depends on the latent.
at::Tensor pass_through(const at::Tensor& latent, const at::Tensor& code,
                        CodeGradient gradient);

}  // namespace internal
}  // namespace tally::losses

namespace tally {
template <>
struct EnumNames<losses::CodeGradient> {
  static constexpr const char* kNames[] = {"straight_through", "rotation"};
};
}  // namespace tally

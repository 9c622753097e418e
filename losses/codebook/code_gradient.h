#pragma once

#include <ATen/core/Tensor.h>

namespace tally::losses {

/// What gradient a latent gets through the code that takes its place.
enum class CodeGradient {
  /// The code's own, as if the two were one.
  kStraightThrough,
  /// The code's, turned back by the rotation that takes the latent's direction
  /// to the code's, and scaled as their lengths are (arXiv 2410.06424).
  kRotation,
};

namespace internal {

/// The values of `code` with the gradient of `latent`; both are vectors along
/// the last dimension. Gradients of gradients flow: the rotation changes with
/// the latent.
at::Tensor pass_through(const at::Tensor& latent, const at::Tensor& code,
                        CodeGradient gradient);

}  // namespace internal
}  // namespace tally::losses

#include "tally/losses/codebook/code_gradient.h"

#include "tally/sync/autograd.h"

namespace tally::losses::internal {
namespace {

constexpr double kLeastLength = 1e-6;

at::Tensor length(const at::Tensor& vectors) {
  return vectors.norm(2, {-1}, /*keepdim=*/true);
}

at::Tensor direction(const at::Tensor& vectors) {
  return vectors.div(length(vectors).clamp_min(kLeastLength));
}

at::Tensor dot(const at::Tensor& a, const at::Tensor& b) {
  return a.mul(b).sum(-1, /*keepdim=*/true);
}

}  // namespace

at::Tensor pass_through(const at::Tensor& latent, const at::Tensor& code,
                        CodeGradient gradient) {
  const at::Tensor value = code.detach();
  if (gradient == CodeGradient::kStraightThrough) {
    return sync::internal::replace_values(latent, value);
  }
  const at::Tensor plain = latent.detach();
  const at::Tensor from = direction(plain), to = direction(value);
  const at::Tensor middle = direction(from.add(to));
  // A reflection at `middle`, and one at `to`.
  const at::Tensor turned = latent.sub(middle.mul(dot(latent, middle).mul(2)))
                                .add(to.mul(dot(latent, from).mul(2)));
  const at::Tensor stretch =
      length(value).div(length(plain).clamp_min(kLeastLength));
  return sync::internal::replace_values(turned.mul(stretch), value);
}

}  // namespace tally::losses::internal

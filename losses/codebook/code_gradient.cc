#include "tally/losses/codebook/code_gradient.h"

#include <torch/csrc/autograd/custom_function.h>

#include "tally/losses/autocast.h"
#include "tally/sync/autograd.h"

namespace tally::losses::internal {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr double kLeastLength = 1e-6;

at::Tensor length(const at::Tensor& vectors) {
  return vectors.norm(2, {-1}, /*keepdim=*/true);
}

at::Tensor direction(const at::Tensor& vectors) {
  return vectors.div(length(vectors).clamp_min(kLeastLength));
}

at::Tensor row_products(const at::Tensor& a, const at::Tensor& b) {
  return a.mul(b).sum(-1, /*keepdim=*/true);
}

struct Rotation : Function<Rotation> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& latent,
                            const at::Tensor& code) {
    context->save_for_backward({latent, code});
    return code.clone();
  }

  // Of operations with a graph: the gradient changes with the latent.
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const AutocastOff autocast_off;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &latent = saved[0], &code = saved[1];
    const at::Tensor from = direction(latent), to = direction(code);
    const at::Tensor middle = direction(from.add(to));
    // The transpose of a reflection at `middle`, then one at `to`.
    const at::Tensor& gradient = gradients[0];
    const at::Tensor turned =
        gradient.sub(middle.mul(row_products(gradient, middle).mul(2)))
            .add(from.mul(row_products(gradient, to).mul(2)));
    const at::Tensor stretch =
        length(code).div(length(latent).clamp_min(kLeastLength));
    return {turned.mul(stretch), at::Tensor()};
  }
};

}  // namespace

at::Tensor pass_through(const at::Tensor& latent, const at::Tensor& code,
                        CodeGradient gradient) {
  const at::Tensor value = code.detach();
  return gradient == CodeGradient::kStraightThrough
             ? sync::replace_values(latent, value)
             : Rotation::apply(latent, value);
}

}  // namespace tally::losses::internal

#include "tally/sync/autograd.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace tally::sync::internal {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct ScaleGradient : Function<ScaleGradient> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor,
                            double factor) {
    context->saved_data["factor"] = factor;
    return tensor.view_as(tensor);
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const double factor = context->saved_data["factor"].toDouble();
    return {factor == 0 ? at::Tensor() : gradients[0].mul(factor),
            at::Tensor()};
  }
};

struct ReplaceValues : Function<ReplaceValues> {
  static at::Tensor forward(AutogradContext*, const at::Tensor& /*graph*/,
                            const at::Tensor& values) {
    return values.clone();
  }
  static variable_list backward(AutogradContext*, variable_list gradients) {
    return {gradients[0], at::Tensor()};
  }
};

struct Tie : Function<Tie> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& loss,
                            const at::Tensor& output) {
    context->saved_data["zero"] = at::zeros({}, output.options());
    context->saved_data["sizes"] = output.sizes().vec();
    return loss.view_as(loss);
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    return {gradients[0], context->saved_data["zero"].toTensor().expand(
                              context->saved_data["sizes"].toIntVector())};
  }
};

struct Attached : Function<Attached> {
  struct Holder : torch::CustomClassHolder {
    explicit Holder(Adjoint a) : adjoint(std::move(a)) {}
    Adjoint adjoint;
  };

  // A TensorList: tensors in a vector do not count as inputs, and `outputs`
  // shall not.
  static variable_list forward(AutogradContext* context,
                               at::TensorList inputs_and_anchor,
                               const variable_list& outputs,
                               c10::intrusive_ptr<Holder> holder) {
    context->saved_data["count"] =
        static_cast<std::int64_t>(inputs_and_anchor.size() - 1);
    context->saved_data["adjoint"] =
        at::IValue::make_capsule(std::move(holder));
    return outputs;
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto capsule = context->saved_data["adjoint"].toCapsule();
    variable_list result =
        static_cast<Holder*>(capsule.get())->adjoint(gradients);
    result.resize(
        static_cast<std::size_t>(context->saved_data["count"].toInt()));
    // The anchor, the outputs and the holder have no gradient.
    result.resize(result.size() + 3);
    return result;
  }
};

}  // namespace

at::Tensor scale_gradient(const at::Tensor& tensor, double factor) {
  return ScaleGradient::apply(tensor, factor);
}

at::Tensor replace_values(const at::Tensor& graph, const at::Tensor& values) {
  return ReplaceValues::apply(graph, values);
}

at::Tensor tie(const at::Tensor& loss, const at::Tensor& output) {
  return Tie::apply(loss, output);
}

std::vector<at::Tensor> attach(const std::vector<at::Tensor>& inputs,
                               std::vector<at::Tensor> outputs,
                               Adjoint adjoint) {
  // Not as views, which could not be changed in place.
  for (at::Tensor& output : outputs) output = output.detach();
  variable_list with_anchor = inputs;
  with_anchor.push_back(at::empty({0}).requires_grad_());
  return Attached::apply(
      at::TensorList(with_anchor), outputs,
      c10::make_intrusive<Attached::Holder>(std::move(adjoint)));
}

at::Tensor attach(
    const at::Tensor& input, const at::Tensor& output,
    std::function<at::Tensor(const at::Tensor& gradient)> adjoint) {
  return attach(std::vector<at::Tensor>{input}, {output},
                [adjoint = std::move(adjoint)](const auto& gradients) {
                  return std::vector<at::Tensor>{adjoint(gradients[0])};
                })[0];
}

}  // namespace tally::sync::internal

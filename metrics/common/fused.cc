#include "tally/metrics/common/fused.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <cstddef>
#include <utility>

#include "tally/state/fresh_tensor.h"

namespace tally::internal {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::size_t kMostInputs = 4;

// Of those that are wanted, as the formula has them.
variable_list formula_gradients(const Fused& function, variable_list inputs,
                                const at::Tensor& gradient,
                                c10::ArrayRef<bool> wanted) {
  const bool records = at::GradMode::is_enabled();
  const at::AutoGradMode with_graph(true);
  variable_list own;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!records) inputs[i] = inputs[i].detach().requires_grad_(wanted[i]);
    if (wanted[i]) own.push_back(inputs[i]);
  }
  const at::Tensor value = function.formula(inputs);
  const variable_list found = torch::autograd::grad(
      {value}, own, {gradient}, /*retain_graph=*/std::nullopt,
      /*create_graph=*/records, /*allow_unused=*/true);
  variable_list result(inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (wanted[i]) result[i] = found[next++];
  }
  return result;
}

struct Node : Function<Node> {
  static at::Tensor forward(AutogradContext* context,
                            const c10::intrusive_ptr<Fused>& function,
                            at::TensorList inputs) {
    context->save_for_backward(inputs.vec());
    context->saved_data["function"] = c10::IValue::make_capsule(
        c10::intrusive_ptr<torch::CustomClassHolder>(function));
    return function->value(inputs);
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto capsule = context->saved_data["function"].toCapsule();
    const auto& function = static_cast<const Fused&>(*capsule);
    const variable_list inputs = context->get_saved_variables();
    std::array<bool, kMostInputs> wanted{};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      wanted[i] = context->needs_input_grad(i);
    }
    const c10::ArrayRef<bool> all(wanted.data(), inputs.size());
    variable_list result;
    if (!at::GradMode::is_enabled()) {
      result = function.gradients(inputs, gradients[0].contiguous(), all);
    }
    if (result.empty()) {
      result = formula_gradients(function, inputs, gradients[0], all);
    }
    result.insert(result.begin(), at::Tensor());  // of the function
    return result;
  }
};

}  // namespace

std::vector<at::Tensor> Fused::fresh_gradients(at::TensorList inputs,
                                               c10::ArrayRef<bool> wanted) {
  std::vector<at::Tensor> gradients(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!wanted[i]) continue;
    gradients[i] = fresh_tensor(inputs[i].sizes(), inputs[i].scalar_type());
  }
  return gradients;
}

bool are_fusible(at::TensorList inputs) {
  if (inputs.size() > kMostInputs) return false;
  const at::ScalarType dtype = inputs[0].scalar_type();
  if (dtype != at::kFloat && dtype != at::kDouble) return false;
  for (const at::Tensor& input : inputs) {
    // Tensors of transforms have no memory; those with a tangent have another
    // derivative to follow.
    const bool is_plain = input.is_cpu() && input.scalar_type() == dtype &&
                          input.layout() == at::kStrided &&
                          input.has_storage() && input.is_contiguous() &&
                          !input._fw_grad(/*level=*/0).defined();
    if (!is_plain) return false;
  }
  return true;
}

at::Tensor fused(c10::intrusive_ptr<Fused> function, at::TensorList inputs) {
  return Node::apply(std::move(function), inputs);
}

}  // namespace tally::internal

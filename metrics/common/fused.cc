#include "tally/metrics/common/fused.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tally/port/autograd.h"
#include "tally/state/fresh_tensor.h"

namespace tally::internal {
namespace {

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

// Derived from LibTorch's node itself: that of a custom function costs as much
// as the loss of a small batch.
class FusedNode final : public port::Node {
 public:
  FusedNode(c10::intrusive_ptr<Fused> function, at::TensorList inputs)
      : function_(std::move(function)) {
    for (const at::Tensor& input : inputs) {
      add_next_edge(port::gradient_edge(input));
      inputs_.emplace_back(input, /*is_output=*/false);
    }
  }

  std::string name() const override { return "tally::Fused"; }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (port::SavedVariable& input : inputs_) input.reset_data();
  }

 private:
  variable_list apply(variable_list&& gradients) override {
    variable_list inputs;
    std::array<bool, kMostInputs> wanted{};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        inputs.push_back(inputs_[i].unpack());
        wanted[i] = task_should_compute_output(i);
      }
    }
    if (!gradients[0].defined()) return variable_list(inputs.size());
    const c10::ArrayRef<bool> all(wanted.data(), inputs.size());
    variable_list result;
    if (!at::GradMode::is_enabled()) {
      result = function_->gradients(inputs, gradients[0].contiguous(), all);
    }
    if (result.empty()) {
      result = formula_gradients(*function_, inputs, gradients[0], all);
    }
    return result;
  }

  c10::intrusive_ptr<Fused> function_;
  std::vector<port::SavedVariable> inputs_;
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
  at::Tensor value;
  {
    const at::NoGradGuard no_graph;
    value = function->value(inputs);
  }
  const bool has_graph =
      at::GradMode::is_enabled() &&
      std::any_of(inputs.begin(), inputs.end(), [](const at::Tensor& input) {
        return input.requires_grad();
      });
  if (has_graph) {
    port::set_node(value,
                   port::make_node<FusedNode>(std::move(function), inputs));
  }
  return value;
}

}  // namespace tally::internal

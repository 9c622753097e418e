#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/utils/lambda_post_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "tally/port/libtorch_version.h"

namespace tally::port {

using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::SavedVariable;

/// Where a tensor's gradient comes from, or goes if it is a leaf.
inline Edge gradient_edge(const at::Tensor& tensor) {
  return torch::autograd::impl::gradient_edge(tensor);
}

/// Makes a node of the graph, of a class derived from Node.
template <class Own, class... Arguments>
auto make_node(Arguments&&... arguments) {
#if TALLY_LIBTORCH_AT_LEAST(2, 13)
  return c10::make_intrusive<Own>(std::forward<Arguments>(arguments)...);
#else
  // LibTorch's way to delete long chains of them without recursion.
  return std::shared_ptr<Own>(new Own(std::forward<Arguments>(arguments)...),
                              torch::autograd::deleteNode);
#endif
}

/// Makes `tensor`, which has no graph, the next output of the node.
template <class Pointer>
void set_node(at::Tensor& tensor, const Pointer& node) {
  torch::autograd::create_gradient_edge(tensor, node);
}

/// Calls a function whenever a backward pass is through with the gradient of a
/// leaf, as long as this object lives. The engine may call from any thread.
class AccumulatedHook {
 public:
  AccumulatedHook(const at::Tensor& leaf, std::function<void()> done)
      : accumulator_(torch::autograd::impl::grad_accumulator(leaf)),
        hook_(accumulator_->add_post_hook(
            std::make_unique<torch::autograd::utils::LambdaPostHook>(
                [done = std::move(done)](
                    const torch::autograd::variable_list& outputs,
                    const torch::autograd::variable_list&) {
                  done();
                  return outputs;
                }))) {}
  ~AccumulatedHook() {
    if (accumulator_) accumulator_->del_post_hook(hook_);
  }
  AccumulatedHook(AccumulatedHook&&) = default;
  AccumulatedHook& operator=(AccumulatedHook&&) = delete;

 private:
  // A shared_ptr up to LibTorch 2.12, an intrusive_ptr from 2.13 on.
  decltype(torch::autograd::impl::grad_accumulator(
      std::declval<const at::Tensor&>())) accumulator_;
  std::uintptr_t hook_;
};

}  // namespace tally::port

#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

/// Building blocks for the autograd graphs of collectives and distributed
/// losses: docs/gradients.md ("A loss of your own").
namespace tally::sync {

/// Whether the tensor is part of an autograd graph.
bool has_graph(const at::Tensor& tensor);

/// The values, contiguous and without a graph.
at::Tensor plain(const at::Tensor& tensor);

/// `tensor`, with its gradient multiplied by `factor`; with factor 0 there is
/// no gradient, not even 0 times an infinity or NaN. A separate node, so that
/// infinities and NaN in the values have no effect either.
at::Tensor scale_gradient(const at::Tensor& tensor, double factor);

/// The values of `values` with the graph of `graph`: for a number that was
/// computed twice, once without a graph and bit-identical on every rank, once
/// with a graph.
at::Tensor replace_values(const at::Tensor& graph, const at::Tensor& values);

/// `tensor`, this rank's among others whose graphs are on other ranks, with its
/// gradient multiplied by `factor`. Second-order gradients would require the
/// other graphs: if the gradient depends on anything, its backward pass throws
/// c10::Error, starting with `name`.
at::Tensor without_other_graphs(const at::Tensor& tensor, double factor,
                                const std::string& name);

/// `loss`, with a backward pass that also reaches `output`, with zeros. If a
/// rank's loss does not depend on a collective's output, this makes its
/// backward pass take part in that of the collective, for which other ranks
/// wait.
at::Tensor tie(const at::Tensor& loss, const at::Tensor& output);

/// Maps the gradients of a collective's outputs (zeros for unused outputs) to
/// those of its inputs.
using Adjoint = std::function<std::vector<at::Tensor>(
    const std::vector<at::Tensor>& gradients)>;

/// Connects `outputs`, which own their memory and carry no graph, to `inputs`
/// by a node that calls `adjoint`. The node is created even if no input has a
/// graph, because another rank's backward pass relies on this one's; likewise,
/// the backward pass of gradients with a graph always leads to `inputs`.
/// Second-order gradients are supported if `adjoint` consists of differentiable
/// calls.
std::vector<at::Tensor> attach(const std::vector<at::Tensor>& inputs,
                               std::vector<at::Tensor> outputs,
                               Adjoint adjoint);

/// The same for one input and one output.
at::Tensor attach(
    const at::Tensor& input, const at::Tensor& output,
    std::function<at::Tensor(const at::Tensor& gradient)> adjoint);

/// During its lifetime, nodes created by attach() on this thread also lead to
/// `tensors`, with zeros: for inputs that are not used, as they have no rows,
/// while other ranks' backward passes rely on this one's.
class LeadTo {
 public:
  explicit LeadTo(std::vector<at::Tensor> tensors);
  ~LeadTo();
  LeadTo(const LeadTo&) = delete;
  LeadTo& operator=(const LeadTo&) = delete;

 private:
  std::vector<at::Tensor> before_;
};

}  // namespace tally::sync

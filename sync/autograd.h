#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

/// The autograd nodes that collectives and losses over all ranks are made of:
/// docs/gradients.md ("A loss of your own").
namespace tally::sync {

/// Whether backward leads to this tensor.
bool has_graph(const at::Tensor& tensor);

/// The values, contiguous and without a graph.
at::Tensor plain(const at::Tensor& tensor);

/// `tensor` with a gradient that arrives `factor` times as large; with factor 0
/// none arrives, where 0 times an infinity or NaN would. A node of its own, so
/// that infinities and NaN in the values do not matter either.
at::Tensor scale_gradient(const at::Tensor& tensor, double factor);

/// The values of `values` with the graph of `graph`: where the same number was
/// computed twice, once plainly and bit-equal on every rank, once with a graph.
at::Tensor replace_values(const at::Tensor& graph, const at::Tensor& values);

/// `tensor` as this rank's among others whose graphs are not here, with a
/// gradient that arrives `factor` times as large. What lacks their graphs is a
/// gradient's own gradient: where that one depends on anything, its backward
/// pass throws c10::Error, after `name`.
at::Tensor without_other_graphs(const at::Tensor& tensor, double factor,
                                const std::string& name);

/// `loss`, such that its backward pass reaches `output` as well, with zeros. On
/// a rank whose loss does not depend on a collective's output, this makes the
/// backward pass take part in that collective's, for which other ranks wait.
at::Tensor tie(const at::Tensor& loss, const at::Tensor& output);

/// From the gradients of a collective's outputs (zeros where an output was not
/// used) to those of its inputs.
using Adjoint = std::function<std::vector<at::Tensor>(
    const std::vector<at::Tensor>& gradients)>;

/// Gives `outputs`, which own their memory and carry no graph, a node that
/// leads to `inputs` by `adjoint`. It exists also where no input has a graph,
/// because another rank's backward pass counts on this one's; of gradients that
/// carry a graph, the backward pass leads to `inputs` in any case, too.
/// Gradients of gradients flow if `adjoint` is made of differentiable calls.
std::vector<at::Tensor> attach(const std::vector<at::Tensor>& inputs,
                               std::vector<at::Tensor> outputs,
                               Adjoint adjoint);

/// The same for one input and one output.
at::Tensor attach(
    const at::Tensor& input, const at::Tensor& output,
    std::function<at::Tensor(const at::Tensor& gradient)> adjoint);

/// While it lives, what attach() makes on this thread leads to `tensors` as
/// well, with zeros: for inputs from which nothing may be computed, as they
/// have no rows, while other ranks' backward pass counts on this one's.
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

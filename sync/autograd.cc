#include "tally/sync/autograd.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "tally/sync/gradient_flow.h"

namespace tally::sync {
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
    if (factor != 0) return {gradients[0].mul(factor), at::Tensor()};
    if (!at::GradMode::is_enabled()) return {at::Tensor(), at::Tensor()};
    // The gradient's own backward pass has to come by here.
    return {tie(at::zeros_like(gradients[0]), gradients[0]), at::Tensor()};
  }
};

struct RefuseGradient : Function<RefuseGradient> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor,
                            const std::string& reason) {
    context->saved_data["reason"] = reason;
    return tensor.view_as(tensor);
  }
  static variable_list backward(AutogradContext* context, variable_list) {
    TORCH_CHECK(false, context->saved_data["reason"].toStringRef());
  }
};

struct WithoutOtherGraphs : Function<WithoutOtherGraphs> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor,
                            double factor, const std::string& reason) {
    context->saved_data["factor"] = factor;
    context->saved_data["reason"] = reason;
    return tensor.view_as(tensor);
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const double factor = context->saved_data["factor"].toDouble();
    at::Tensor gradient = factor == 1 ? gradients[0] : gradients[0].mul(factor);
    if (at::GradMode::is_enabled() && gradient.requires_grad()) {
      gradient = RefuseGradient::apply(
          gradient, context->saved_data["reason"].toStringRef());
    }
    return {gradient, at::Tensor(), at::Tensor()};
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

// What zeros of a tensor's kind and size are made of.
struct Kind {
  explicit Kind(const at::Tensor& tensor)
      : options(tensor.options()), sizes(tensor.sizes().vec()) {}
  at::Tensor zeros() const { return at::zeros({}, options).expand(sizes); }

  at::TensorOptions options;
  std::vector<std::int64_t> sizes;
};

struct Kinds : torch::CustomClassHolder {
  explicit Kinds(at::TensorList tensors) : of(tensors.begin(), tensors.end()) {}
  std::vector<Kind> of;
};

// `tensor`, whose backward pass reaches `others` with zeros.
struct Tie : Function<Tie> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor,
                            at::TensorList others) {
    context->saved_data["kinds"] =
        at::IValue::make_capsule(c10::make_intrusive<Kinds>(others));
    return tensor.view_as(tensor);
  }
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto capsule = context->saved_data["kinds"].toCapsule();
    const bool again = at::GradMode::is_enabled();
    for (const Kind& kind : static_cast<Kinds*>(capsule.get())->of) {
      gradients.push_back(again ? tie(kind.zeros(), gradients[0])
                                : kind.zeros());
    }
    return gradients;
  }
};

struct Attached : Function<Attached> {
  struct Holder : torch::CustomClassHolder {
    explicit Holder(Adjoint a) : adjoint(std::move(a)) {}
    Adjoint adjoint;
  };

  // A TensorList: tensors in a vector do not count as inputs, and `outputs`
  // shall not. The last output has no values, and stands for this node.
  static variable_list forward(AutogradContext* context,
                               at::TensorList inputs_and_anchor,
                               variable_list outputs,
                               c10::intrusive_ptr<Holder> holder) {
    context->saved_data["count"] =
        static_cast<std::int64_t>(inputs_and_anchor.size() - 1);
    context->saved_data["adjoint"] =
        at::IValue::make_capsule(std::move(holder));
    context->saved_data["leads"] =
        inputs_and_anchor.back().grad_fn() != nullptr;
    outputs.push_back(at::empty({0}));
    context->save_for_backward({outputs.back()});
    return outputs;
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const auto capsule = context->saved_data["adjoint"].toCapsule();
    gradients.pop_back();
    if (at::GradMode::is_enabled()) {
      // What computed the gradients may have no graph here (of no rows, say),
      // and one on other ranks: their next backward pass comes by this node
      // again, and waits for this rank's.
      gradients[0] = tie(gradients[0], context->get_saved_variables()[0]);
    }
    variable_list result =
        static_cast<Holder*>(capsule.get())->adjoint(gradients);
    at::Tensor of_anchor;
    if (at::GradMode::is_enabled() && context->saved_data["leads"].toBool()) {
      of_anchor = tie(at::zeros({0}), result[0]);
    }
    result.resize(
        static_cast<std::size_t>(context->saved_data["count"].toInt()));
    result.push_back(of_anchor);
    // The outputs and the holder have no gradient.
    result.resize(result.size() + 2);
    return result;
  }
};

thread_local variable_list leading_to;

}  // namespace

LeadTo::LeadTo(std::vector<at::Tensor> tensors)
    : before_(std::exchange(leading_to, std::move(tensors))) {}

LeadTo::~LeadTo() { leading_to = std::move(before_); }

bool has_graph(const at::Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad() &&
         at::GradMode::is_enabled();
}

at::Tensor plain(const at::Tensor& tensor) {
  return tensor.detach().resolve_conj().resolve_neg().contiguous();
}

at::Tensor scale_gradient(const at::Tensor& tensor, double factor) {
  return ScaleGradient::apply(tensor, factor);
}

at::Tensor replace_values(const at::Tensor& graph, const at::Tensor& values) {
  return ReplaceValues::apply(graph, values);
}

at::Tensor without_other_graphs(const at::Tensor& tensor, double factor,
                                const std::string& name) {
  return WithoutOtherGraphs::apply(
      tensor, factor,
      name +
          ": expected no second-order gradients, which need the graphs of all "
          "ranks' parts; GradientFlow::kAllRanks provides them");
}

at::Tensor tie(const at::Tensor& loss, const at::Tensor& output) {
  TORCH_CHECK_VALUE(loss.defined() && output.defined(),
                    "tie: expected two tensors, got an undefined one");
  return Tie::apply(loss, at::TensorList(output));
}

std::vector<at::Tensor> attach(const std::vector<at::Tensor>& inputs,
                               std::vector<at::Tensor> outputs,
                               Adjoint adjoint) {
  // Not as views, which could not be changed in place.
  for (at::Tensor& output : outputs) output = output.detach();
  // Makes a node in any case.
  at::Tensor anchor = Tie::apply(at::empty({0}), at::TensorList(leading_to));
  if (!anchor.requires_grad()) anchor = at::empty({0}).requires_grad_();
  variable_list with_anchor = inputs;
  with_anchor.push_back(std::move(anchor));
  variable_list attached = Attached::apply(
      at::TensorList(with_anchor), std::move(outputs),
      c10::make_intrusive<Attached::Holder>(std::move(adjoint)));
  attached.pop_back();
  return attached;
}

at::Tensor attach(
    const at::Tensor& input, const at::Tensor& output,
    std::function<at::Tensor(const at::Tensor& gradient)> adjoint) {
  return attach(std::vector<at::Tensor>{input}, {output},
                [adjoint = std::move(adjoint)](const auto& gradients) {
                  return std::vector<at::Tensor>{adjoint(gradients[0])};
                })[0];
}

}  // namespace tally::sync

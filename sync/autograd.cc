#include "tally/sync/autograd.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

#include "tally/sync/agreed_sum.h"

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
    return {gradients[0].mul(context->saved_data["factor"].toDouble()),
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

using Slots = std::vector<std::vector<at::Tensor>>;

// Gradients are summed as float64, whatever the slots' types.
struct AllRanks : Function<AllRanks> {
  // A TensorList: tensors in a vector would not count as inputs.
  static variable_list forward(AutogradContext* context, at::TensorList /*own*/,
                               const Slots& slots,
                               std::shared_ptr<Communicator> communicator) {
    variable_list values;
    for (const auto& slot : slots) {
      for (const at::Tensor& value : slot) values.push_back(value.clone());
    }
    context->saved_data["sizes"] = shapes(values);
    context->saved_data["count"] =
        static_cast<std::int64_t>(slots.front().size());
    context->saved_data["communicator"] = at::IValue::make_capsule(
        c10::make_intrusive<Holder>(std::move(communicator)));
    return values;
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    for (const at::Tensor& gradient : gradients) {
      TORCH_CHECK(!(at::GradMode::is_enabled() && gradient.defined() &&
                    gradient.requires_grad()),
                  "the gradient of a gradient does not flow through "
                  "GradientFlow::kAllRanks; expected backward() without "
                  "create_graph");
    }
    const auto capsule = context->saved_data["communicator"].toCapsule();
    const auto communicator = static_cast<Holder*>(capsule.get())->communicator;
    const auto count =
        static_cast<size_t>(context->saved_data["count"].toInt());
    const auto sizes = context->saved_data["sizes"].toIntVector();

    std::int64_t total = 0;
    for (std::int64_t size : sizes) total += size;
    at::Tensor flat = at::zeros({total}, at::kDouble);
    std::int64_t offset = 0;
    std::vector<std::int64_t> offsets;
    for (size_t i = 0; i < gradients.size(); ++i) {
      offsets.push_back(offset);
      if (gradients[i].defined()) {
        flat.narrow(0, offset, sizes[i])
            .copy_(gradients[i].detach().reshape({-1}));
      }
      offset += sizes[i];
    }
    agreed_sum(*communicator, ExchangeKind::kBackward, "backward", flat);

    variable_list result;
    const size_t first = count * static_cast<size_t>(communicator->rank());
    for (size_t i = 0; i < count; ++i) {
      const at::Tensor& like = gradients[first + i];
      result.push_back(flat.narrow(0, offsets[first + i], sizes[first + i])
                           .reshape(like.sizes())
                           .to(like.options()));
    }
    // The anchor, the slots and the communicator have no gradient.
    result.resize(count + 3);
    return result;
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<Communicator> c)
        : communicator(std::move(c)) {}
    std::shared_ptr<Communicator> communicator;
  };

  static std::vector<std::int64_t> shapes(const variable_list& values) {
    std::vector<std::int64_t> sizes;
    for (const at::Tensor& value : values) sizes.push_back(value.numel());
    return sizes;
  }
};

}  // namespace

at::Tensor scale_gradient(const at::Tensor& tensor, double factor) {
  return ScaleGradient::apply(tensor, factor);
}

at::Tensor replace_values(const at::Tensor& graph, const at::Tensor& values) {
  return ReplaceValues::apply(graph, values);
}

std::vector<std::vector<at::Tensor>> attach_all_ranks(
    const std::vector<at::Tensor>& own,
    const std::vector<std::vector<at::Tensor>>& slots,
    std::shared_ptr<Communicator> communicator) {
  // The anchor makes the node exist, and its backward run, on a rank whose own
  // tensors carry no graph.
  variable_list inputs = own;
  inputs.push_back(at::empty({0}).requires_grad_());
  const variable_list flat =
      AllRanks::apply(at::TensorList(inputs), slots, std::move(communicator));
  const size_t count = own.size();
  std::vector<std::vector<at::Tensor>> result;
  for (size_t r = 0; r < slots.size(); ++r) {
    result.emplace_back(flat.begin() + r * count,
                        flat.begin() + (r + 1) * count);
  }
  return result;
}

}  // namespace tally::sync::internal

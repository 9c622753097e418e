#include <torch/library.h>

#include <utility>

#include "tally/losses/metric_loss.h"
#include "tally/losses/registry/loss_registry.h"
#include "tally/python/csrc/library.h"
#include "tally/python/csrc/object.h"
#include "tally/python/csrc/values.h"

namespace tally::python {
namespace {

using at::Tensor;
using losses::Loss;
using Optional = std::optional<Tensor>;

std::vector<Tensor> given(const std::vector<Optional>& inputs) {
  std::vector<Tensor> tensors;
  for (const Optional& input : inputs) {
    tensors.push_back(input.value_or(Tensor()));
  }
  return tensors;
}

/// A tensor, or a tuple of several.
c10::IValue ivalue_of(std::vector<Tensor> results) {
  if (results.size() == 1) return std::move(results[0]);
  return c10::ivalue::Tuple::create(
      std::vector<c10::IValue>(results.begin(), results.end()));
}

void define_loss(torch::Library& m) {
  using Self = ObjectPtr<Loss>;
  auto c = m.class_<Object<Loss>>("Loss");
  c.def(
      torch::init([](const std::string& name,
                     const c10::Dict<std::string, std::string>& options,
                     const Group& group, const std::optional<double>& timeout) {
        std::map<std::string, std::string> texts;
        for (const auto& option : options) {
          texts.emplace(option.key(), option.value());
        }
        return make_object<Loss>(losses::loss_entry(name).make(
            texts, {communicator_of(group), timeout_of(timeout)}));
      }));
  c.def("forward", [](const Self& self, const std::vector<Optional>& inputs) {
    return self->use(
        [&](Loss& loss) { return ivalue_of(loss.forward(given(inputs))); });
  });
  c.def("logits", [](const Self& self, const std::vector<Optional>& inputs) {
    return self->use(
        [&](Loss& loss) { return ivalue_of(loss.logits(given(inputs))); });
  });
  c.def("indices_to_codes",
        [](const Self& self, const Tensor& indices, bool project_out) {
          return self->use([&](Loss& loss) {
            return loss.indices_to_codes(indices, project_out);
          });
        });
  c.def("train", [](const Self& self, bool mode) {
    self->use([&](Loss& loss) { loss.module().train(mode); });
  });
  c.def("parameters", [](const Self& self) {
    return self->use([](Loss& loss) {
      TensorDict parameters;
      for (const auto& each : loss.module().named_parameters()) {
        parameters.insert(each.key(), each.value());
      }
      return parameters;
    });
  });
  c.def("buffers", [](const Self& self) {
    return self->use([](Loss& loss) {
      TensorDict buffers;
      for (const auto& each : loss.module().named_buffers()) {
        buffers.insert(each.key(), each.value());
      }
      return buffers;
    });
  });
  c.def("set_buffers", [](const Self& self, const TensorDict& buffers) {
    std::map<std::string, Tensor> tensors;
    for (const auto& buffer : buffers) {
      tensors.emplace(buffer.key(), buffer.value());
    }
    self->use([&](Loss& loss) { loss.set_buffers(tensors); });
  });
}

void define_metric_loss(torch::Library& m) {
  using losses::MetricLossImpl;
  using Self = ObjectPtr<MetricLossImpl>;
  auto c = m.class_<Object<MetricLossImpl>>("MetricLoss");
  c.def(torch::init([](const ObjectPtr<Metric>& metric,
                       const std::string& gradient_flow, const Group& group,
                       const std::optional<double>& timeout, bool accumulate) {
    return make_object(std::make_shared<MetricLossImpl>(
        metric->use([](Metric& held) { return held.clone(); }),
        losses::MetricLossOptions()
            .gradient_flow(gradient_flow_of(gradient_flow))
            .communicator(communicator_of(group))
            .timeout(timeout_of(timeout))
            .accumulate(accumulate)));
  }));
  c.def("forward", [](const Self& self, const Tensor& preds,
                      const Optional& target, const Optional& weight) {
    return self->use([&](MetricLossImpl& loss) {
      if (weight) return loss.forward(preds, target, *weight);
      return target ? loss.forward(preds, *target) : loss.forward(preds);
    });
  });
  // The loss's own, not a copy.
  c.def("metric", [](const Self& self) {
    const auto& loss = self->held();
    return make_object(std::shared_ptr<Metric>(loss, &loss->metric()));
  });
}

}  // namespace

void define_losses(torch::Library& m) {
  define_loss(m);
  define_metric_loss(m);
}

}  // namespace tally::python

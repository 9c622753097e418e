#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for MetricLoss.
struct MetricLossOptions {
  /// How the loss's gradient is meant to be used. kReplicated: the parameters'
  /// gradients are averaged over the ranks afterwards (average_gradients,
  /// DistributedDataParallel). kLocal: they are summed. Default: kReplicated.
  TORCH_ARG(sync::GradientFlow,
            gradient_flow) = sync::GradientFlow::kReplicated;
  /// The ranks. Default: the metric's, else sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
  /// How long a step may wait for other ranks. Default: the metric's.
  TORCH_ARG(sync::Timeout, sync_timeout) = {};
  /// Keep what the steps have accumulated, so that metric().compute_results()
  /// is the value over all of them. Default: true.
  TORCH_ARG(bool, accumulate) = true;
};

/// A differentiable metric as a loss.
///
/// forward() gives the metric's value over the batches of all ranks together,
/// on every rank the same, and with average_gradients() its exact gradient:
/// uneven batches and ranks with an empty one included. No communication takes
/// place in backward() (one exchange with kAllRanks). Gradients of gradients
/// are exact with kAllRanks; with the others, on several ranks, their backward
/// pass throws c10::Error.
///
/// forward() is collective and takes what the metric's update() takes; it
/// returns the metric's result, which must be one tensor, computed as if
/// autocast were off. A rank without data passes an empty batch of its model,
/// so that its backward() runs too; if all of them do, the value is the
/// metric's of no data.
///
/// What is accumulated is no parameter or buffer: torch::save of a module that
/// holds the loss leaves it out. metric().save(path, ranks) saves it.
///
/// Example:
///     losses::MetricLoss loss{MeanSquaredError()};
///     loss->forward(model->forward(x), y).backward();
///     sync::average_gradients(model->parameters());
///     optimizer.step();
class MetricLossImpl : public torch::nn::Cloneable<MetricLossImpl> {
 public:
  /// Takes the metric over. Throws c10::ValueError, naming it, if it is not
  /// differentiable, gives several results, or has accumulated something.
  template <class M, std::enable_if_t<
                         std::is_base_of_v<Metric, std::decay_t<M>>, int> = 0>
  explicit MetricLossImpl(M&& metric,
                          MetricLossOptions options = MetricLossOptions())
      : MetricLossImpl(std::make_unique<std::decay_t<M>>(std::move(metric)),
                       std::move(options)) {
    static_assert(!std::is_lvalue_reference_v<M>,
                  "a loss takes a metric over: std::move it in, or pass its "
                  "clone()");
    static_assert(may_be_differentiable<std::decay_t<M>>(),
                  "a loss needs a differentiable metric, and this one is not: "
                  "its kIsDifferentiable is false");
  }
  explicit MetricLossImpl(std::unique_ptr<Metric> metric,
                          MetricLossOptions options = MetricLossOptions());

  template <class... Args>
  at::Tensor forward(const Args&... args) {
    std::vector<at::Tensor> tensors;
    (keep_tensor(args, tensors), ...);
    return forward_inputs({InputRef::of(tally::internal::as_input(args))...},
                          tensors);
  }

  /// What is accumulated, to compute, reset or save.
  Metric& metric() { return *metric_; }
  const Metric& metric() const { return *metric_; }
  const MetricLossOptions& options() const { return options_; }

  /// Of Cloneable: gives a copy a metric of its own.
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

 private:
  /// False if a class says that none of its metrics is. Others, such as
  /// arithmetic, know it at run time.
  template <class M>
  static constexpr bool may_be_differentiable() {
    if constexpr (SaysByClass<M>::value) {
      return M::kIsDifferentiable;
    } else {
      return true;
    }
  }
  template <class M, class = void>
  struct SaysByClass : std::false_type {};
  template <class M>
  struct SaysByClass<M, std::void_t<typename M::Base>>
      : std::is_same<decltype(&M::is_differentiable),
                     bool (M::Base::*)() const> {};

  template <class T>
  static void keep_tensor(const T& input, std::vector<at::Tensor>& tensors) {
    if constexpr (std::is_same_v<T, at::Tensor>) {
      tensors.push_back(input);
    } else if constexpr (std::is_same_v<T, std::optional<at::Tensor>>) {
      if (input) tensors.push_back(*input);
    }
  }
  at::Tensor forward_inputs(std::initializer_list<InputRef> inputs,
                            const std::vector<at::Tensor>& tensors);

  std::shared_ptr<Metric> metric_;
  MetricLossOptions options_;
};

TORCH_MODULE(MetricLoss);

}  // namespace tally::losses

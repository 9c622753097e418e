#pragma once

#include <c10/util/FunctionRef.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>

#include <initializer_list>
#include <memory>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include "tally/metrics/metric.h"
#include "tally/sync/communicator.h"

namespace tally::losses {

/// Options for MetricLoss.
struct MetricLossOptions {
  /// The gradient convention. kReplicated: the parameters' gradients are
  /// averaged over the ranks afterwards (average_gradients,
  /// DistributedDataParallel). kLocal: they are summed.
  TORCH_ARG(sync::GradientFlow,
            gradient_flow) = sync::GradientFlow::kReplicated;
  /// The ranks. Default: the metric's, or else sync::default_communicator().
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
  /// How long a step may wait for other ranks. Default: the metric's.
  TORCH_ARG(sync::Timeout, timeout) = {};
  /// Accumulate over the steps, so that metric().compute_results() is the value
  /// over all of them.
  TORCH_ARG(bool, accumulate) = true;
};

/// A differentiable metric as a loss.
///
/// forward() returns the metric's value over the batches of all ranks, the same
/// on every rank, and with average_gradients() its gradient is exact, also for
/// uneven and empty batches. backward() does not communicate (with kAllRanks,
/// one exchange). Second-order gradients are exact with kAllRanks; otherwise,
/// on several ranks, their backward pass throws c10::Error.
///
/// forward() is collective and takes the inputs of the metric's update(), by
/// position or by name; it returns the metric's result, which must be a single
/// tensor, possibly with counts beside it, computed with autocast disabled. A
/// rank without data passes an empty batch through its model, so that its
/// backward() also runs; if all ranks do, the value is that of the metric
/// without data.
/// Inputs of a user's own type lead to the tensors in them, as ImageObjects do,
/// by a function tensors_of(input) beside the type.
///
/// The accumulated state is not a parameter or buffer: torch::save of a module
/// that contains the loss omits it. Use metric().save(path, ranks).
///
/// Example:
///     losses::MetricLoss loss{MeanSquaredError()};
///     loss->forward(model->forward(x), y).backward();
///     sync::average_gradients(model->parameters());
///     optimizer.step();
class MetricLossImpl : public torch::nn::Cloneable<MetricLossImpl> {
 public:
  /// Takes ownership of the metric. Throws c10::ValueError, naming it, if it is
  /// not differentiable, has several results that are not counts, or has
  /// accumulated data.
  template <class M, std::enable_if_t<
                         std::is_base_of_v<Metric, std::decay_t<M>>, int> = 0>
  explicit MetricLossImpl(M&& metric,
                          MetricLossOptions options = MetricLossOptions())
      : MetricLossImpl(std::make_unique<std::decay_t<M>>(std::move(metric)),
                       std::move(options)) {
    static_assert(
        !std::is_lvalue_reference_v<M>,
        "a loss takes ownership of its metric: std::move it in, or pass its "
        "clone()");
    static_assert(may_be_differentiable<std::decay_t<M>>(),
                  "a loss needs a differentiable metric, and this one is not: "
                  "its kIsDifferentiable is false");
  }
  explicit MetricLossImpl(std::unique_ptr<Metric> metric,
                          MetricLossOptions options = MetricLossOptions());

  template <class... Args>
  at::Tensor forward(const Args&... args) {
    return forward_inputs(
        Inputs({InputRef::of(tally::internal::as_input(args))...}));
  }
  /// The same with inputs by name, in any order.
  at::Tensor forward(std::initializer_list<NamedInput> inputs) {
    return forward_inputs(NamedInputs(inputs));
  }

  /// The metric with the accumulated state, to compute, reset or save.
  Metric& metric() { return *metric_; }
  const Metric& metric() const { return *metric_; }
  const MetricLossOptions& options() const { return options_; }

  /// For Cloneable: gives a copy its own metric.
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

 private:
  /// False if no metric of the class is differentiable. For others, such as
  /// arithmetic on metrics, this is only known at run time.
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

  at::Tensor forward_inputs(Inputs inputs);
  at::Tensor forward_inputs(NamedInputs inputs);
  at::Tensor loss_of(c10::function_ref<Results()> forward,
                     std::vector<at::Tensor> tensors);

  std::shared_ptr<Metric> metric_;
  MetricLossOptions options_;
};

TORCH_MODULE(MetricLoss);

}  // namespace tally::losses

extern template class torch::nn::Cloneable<tally::losses::MetricLossImpl>;

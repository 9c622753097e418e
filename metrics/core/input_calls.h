#pragma once

#include <initializer_list>
#include <utility>

#include "tally/metrics/inputs.h"
#include "tally/metrics/metric_options.h"
#include "tally/metrics/results.h"

/// Calls of everything that takes inputs, over the few that a class has itself.
namespace tally::internal {

/// update() of a class with update_inputs(lead..., Inputs) and
/// update_inputs(lead..., NamedInputs). `Lead` is what comes before the inputs:
/// keys, ids.
template <class Self, class... Lead>
class UpdateCalls {
 public:
  /// Accumulates one batch. Throws c10::ValueError, c10::TypeError or
  /// c10::IndexError for inputs that the header does not allow, and for those
  /// that members interpret differently.
  template <class... Args>
  void update(const Lead&... lead, const Args&... args) {
    update_inputs(lead..., std::initializer_list<InputRef>{
                               InputRef::of(as_input(args))...});
  }
  /// The same with named inputs, in any order. Throws c10::ValueError for an
  /// input that is unknown, missing, or given twice.
  ///
  ///     metric.update({{"preds", preds}, {"target", target}});
  void update(const Lead&... lead, std::initializer_list<NamedInput> inputs) {
    static_cast<Self&>(*this).update_inputs(lead..., NamedInputs(inputs));
  }
  void update_inputs(const Lead&... lead,
                     std::initializer_list<InputRef> inputs) {
    static_cast<Self&>(*this).update_inputs(lead..., Inputs(inputs));
  }

  /// A braced list has no type: does not compile, and the error states what to
  /// write instead.
  template <class T, class U>
  void update(const Lead&..., std::initializer_list<T>,
              std::initializer_list<U>) {
    refuse_braces<T>();
  }
  template <class T, class U>
  void update(const Lead&..., std::initializer_list<T>,
              std::initializer_list<std::initializer_list<U>>) {
    refuse_braces<T>();
  }
};

/// The same for forward(), of a class with forward_inputs.
template <class Self>
class ForwardCalls {
 public:
  /// Accumulates one batch and returns its value: that of this rank's batch, or
  /// with dist_sync_on_step, of all ranks' batches together. Differentiable
  /// metrics return it with a graph.
  template <class... Args>
  Results forward(const Args&... args) {
    return forward_inputs(
        std::initializer_list<InputRef>{InputRef::of(as_input(args))...});
  }
  Results forward(std::initializer_list<NamedInput> inputs) {
    return static_cast<Self&>(*this).forward_inputs(NamedInputs(inputs));
  }
  /// forward().
  template <class... Args>
  Results operator()(const Args&... args) {
    return forward(args...);
  }
  Results operator()(std::initializer_list<NamedInput> inputs) {
    return forward(inputs);
  }
  Results forward_inputs(std::initializer_list<InputRef> inputs) {
    return static_cast<Self&>(*this).forward_inputs(Inputs(inputs));
  }

  template <class T, class U>
  Results forward(std::initializer_list<T>, std::initializer_list<U>) {
    refuse_braces<T>();
    return {};
  }
  template <class T, class U>
  Results forward(std::initializer_list<T>,
                  std::initializer_list<std::initializer_list<U>>) {
    refuse_braces<T>();
    return {};
  }
};

/// The value of this rank alone, without a word to the others.
template <class Self>
auto local_value_of(Self& metric) {
  const MetricOptions options = metric.metric_options();
  const auto restore = [&] { metric.set_metric_options(options); };
  metric.set_metric_options(MetricOptions(options).sync_on_compute(false));
  try {
    auto value = metric.compute();
    restore();
    return value;
  } catch (...) {
    restore();
    throw;
  }
}

/// Calls over metric_options(), set_metric_options() and compute().
template <class Self>
class OptionCalls {
 public:
  /// Changes some options, and leaves the others as they are. Throws as
  /// set_metric_options().
  ///
  ///     metric.with_options(
  ///         [](MetricOptions& options) { options.sync_on_compute(false); });
  template <class Change>
  Self& with_options(const Change& change) {
    auto& self = static_cast<Self&>(*this);
    MetricOptions options = self.metric_options();
    change(options);
    self.set_metric_options(std::move(options));
    return self;
  }
  /// compute() of what this rank has accumulated: for a rank that evaluates
  /// alone, or whose peers are gone. Not collective. Throws c10::Error while
  /// synced.
  auto compute_local() { return local_value_of(static_cast<Self&>(*this)); }
};

}  // namespace tally::internal

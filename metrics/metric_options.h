#pragma once

#include <memory>

#include "tally/metrics/options.h"
#include "tally/sync/gradient_flow.h"
#include "tally/sync/timeout.h"

namespace tally {

namespace sync {
class Communicator;
}  // namespace sync

/// How a metric handles NaN in its inputs. Each metric's header specifies the
/// meaning of kPropagate and kIgnore.
enum class NanPolicy {
  kPropagate,  ///< the result becomes NaN
  kError,      ///< throws c10::ValueError; nothing changes
  kIgnore,     ///< samples with a NaN are ignored
};

template <>
struct EnumNames<NanPolicy> {
  static constexpr const char* kNames[] = {"propagate", "error", "ignore"};
};

/// The options that every metric and collection has, in addition to its own.
///
/// Example:
///     const auto options = MetricOptions().nan_policy(NanPolicy::kIgnore);
///     MeanSquaredError mse({}, options);
struct MetricOptions {
  /// forward() returns the value over the batches of all ranks, not only this
  /// one's.
  TORCH_ARG(bool, dist_sync_on_step) = false;
  /// compute() returns the value over all ranks.
  TORCH_ARG(bool, sync_on_compute) = true;
  /// compute() returns a cached value if there was no update in between. With
  /// several ranks the cache is used only if all of them have a value.
  TORCH_ARG(bool, compute_with_cache) = true;
  /// The ranks to sync with. Default: null, which means
  /// sync::default_communicator() at the time of each call.
  TORCH_ARG(std::shared_ptr<sync::Communicator>, communicator) = nullptr;
  /// The gradient of a synced forward() value, the same on every rank; see
  /// sync::GradientFlow.
  TORCH_ARG(sync::GradientFlow, gradient_flow) = sync::GradientFlow::kLocal;
  /// How long a sync may wait for the other ranks. Default: the communicator's.
  TORCH_ARG(sync::Timeout, timeout) = {};
  /// Check the values of inputs (labels in range and so on) in every update.
  /// Shapes and dtypes are always checked.
  TORCH_ARG(bool, validate_args) = true;
  TORCH_ARG(NanPolicy, nan_policy) = NanPolicy::kPropagate;
  /// Keep the state on the CPU, whatever the device of the inputs.
  TORCH_ARG(bool, compute_on_cpu) = false;

 public:
  /// Until 0.2.0.
  MetricOptions& sync_timeout(sync::Timeout value) { return timeout(value); }

  /// The options that affect the state.
  void visit(OptionVisitor& v) {
    v("validate_args", validate_args_,
      "Whether the values of inputs are checked.");
    v("nan_policy", nan_policy_, "What a NaN among the inputs does.");
    v("compute_on_cpu", compute_on_cpu_, "Whether states are kept on the CPU.");
  }
};

}  // namespace tally

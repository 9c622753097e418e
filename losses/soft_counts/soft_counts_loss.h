#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/FunctionRef.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tally/losses/soft_counts/soft_counts_options.h"

namespace tally::losses::internal {

/// Soft counts of classes, [groups, C], float64.
struct SoftCountsOf {
  at::Tensor both;    ///< sum(p y)
  at::Tensor preds;   ///< sum(p)
  at::Tensor target;  ///< sum(y)
  at::Tensor count;   ///< sum(1)
};

/// The losses of classes, [groups, C], or of all together, [groups, 1].
using LossOfCounts = c10::function_ref<at::Tensor(const SoftCountsOf& counts)>;

/// The options of a loss from soft counts, without their type.
struct SoftCountsSettings {
  std::string name, description;
  LabelMode mode;
  ScoreKind input;
  Average average;
  bool batch, soft_labels;
  AbsentClassLoss absent;
  bool include_background;
  std::optional<std::int64_t> ignore_index;
  double smooth_nr, smooth_dr;
  std::shared_ptr<sync::Communicator> communicator;
  sync::Timeout timeout;
};

template <class Options>
SoftCountsSettings settings_of(const char* name, const Options& options,
                               Average average) {
  return {name,
          c10::str(name, '(', options_repr(options), ')'),
          options.mode(),
          options.input(),
          average,
          options.batch(),
          options.soft_labels(),
          options.absent(),
          options.include_background(),
          options.ignore_index(),
          options.smooth_nr(),
          options.smooth_dr(),
          options.communicator(),
          options.timeout()};
}

/// Throws c10::ValueError for options out of range.
void check(const SoftCountsSettings& settings);

/// Throws c10::ValueError unless the option is finite and at least 0, or above
/// it.
void check_at_least_0(const std::string& loss, const char* option,
                      double value);
void check_above_0(const std::string& loss, const char* option, double value);

/// The loss of the counts of all ranks. `check_options` is called where errors
/// reach the other ranks.
at::Tensor soft_counts_loss(const SoftCountsSettings& settings,
                            const at::Tensor& preds, const at::Tensor& target,
                            c10::function_ref<void()> check_options,
                            LossOfCounts loss);

}  // namespace tally::losses::internal

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tally/losses/soft_counts/class_values.h"
#include "tally/losses/soft_counts/soft_counts_options.h"

namespace tally::losses::internal {

/// Soft counts of classes: tensors [groups, C], float64, or of one group.
template <class Values>
struct SoftCountsOf {
  Values both;    ///< sum(p y)
  Values preds;   ///< sum(p)
  Values target;  ///< sum(y)
  Values count;   ///< sum(1)
};

/// What a loss has of its own, with its options.
class SoftCountsRule {
 public:
  virtual ~SoftCountsRule() = default;
  /// The losses of classes, or of all together, [groups, 1].
  virtual at::Tensor loss(const SoftCountsOf<at::Tensor>& counts) const = 0;
  virtual ClassValues loss(const SoftCountsOf<ClassValues>& counts) const = 0;
  /// Throws c10::ValueError for options out of range.
  virtual void check() const = 0;
  virtual std::string description() const = 0;
};

/// The options of a loss from soft counts, without their type.
struct SoftCountsSettings {
  const char* name;
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
void check_at_least_0(const char* loss, const char* option, double value);
void check_above_0(const char* loss, const char* option, double value);

/// The loss of the counts of all ranks.
at::Tensor soft_counts_loss(const SoftCountsSettings& settings,
                            std::shared_ptr<const SoftCountsRule> rule,
                            const at::Tensor& preds, const at::Tensor& target);

}  // namespace tally::losses::internal

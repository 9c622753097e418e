#pragma once

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/pointwise/class_probabilities.h"
#include "tally/metrics/classification/pointwise/loss_sums.h"
#include "tally/metrics/common/inherited_arg.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/score_kind.h"

/// Common options of Brier scores and log losses.
namespace tally::internal::classification {

/// Options of losses of binary scores.
template <class Self>
struct BinaryLossOptions {
  /// The kind of scores in preds. Default: probabilities.
  TALLY_INHERITED_ARG(Self, ScoreKind, input) = ScoreKind::kProbabilities;
  /// Positions with this target are ignored. It need not be 0 or 1.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;

 public:
  /// input(ScoreKind::kLogits).
  Self& from_logits() { return this->input(ScoreKind::kLogits); }
  void visit(OptionVisitor& v) {
    v.first<kProbabilityKinds>("input", input_, OptionRole::kState,
                               internal::words::kProbabilityInput);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  void validate(const char* metric) const {
    check_probability_kind(metric, input_);
  }
};

/// The same for scores of classes.
template <class Self>
struct MulticlassLossOptions {
  /// The number of classes, at least 2.
  template <class Count, RequireCount<Count> = 0>
  MulticlassLossOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  explicit MulticlassLossOptions(internal::Unset) : num_classes_(0) {}

  /// Targets are 0 to num_classes - 1.
  TALLY_INHERITED_ARG(Self, std::int64_t, num_classes);
  /// The kind of scores in preds. Default: probabilities.
  TALLY_INHERITED_ARG(Self, ScoreKind, input) = ScoreKind::kProbabilities;
  /// Positions with this target are ignored. It need not be a class.
  TALLY_INHERITED_ARG(Self, std::optional<std::int64_t>,
                      ignore_index) = std::nullopt;

 public:
  /// input(ScoreKind::kLogits).
  Self& from_logits() { return this->input(ScoreKind::kLogits); }
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      internal::words::kNumClasses);
    v.first<kProbabilityKinds>("input", input_, OptionRole::kState,
                               internal::words::kProbabilityInput);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  void validate(const char* metric) const {
    check_num_classes(metric, num_classes_);
    check_probability_kind(metric, input_);
  }
};

/// The parts of observers of such losses except observe().
template <class OptionsType>
class BinaryLosses {
 public:
  using Options = OptionsType;
  using State = WeightedSum;

  BinaryLosses(const Options& options, const MetricOptions& metric_options)
      : rules_{0.5, options.input(), options.ignore_index(),
               metric_options.nan_policy(), metric_options.validate_args()} {}

 protected:
  BinaryRules rules_;
};

template <class OptionsType>
class MulticlassLosses {
 public:
  using Options = OptionsType;
  using State = ClassWeightedSum;

  MulticlassLosses(const Options& options, const MetricOptions& metric_options)
      : rules_{options.num_classes(), options.ignore_index(),
               metric_options.nan_policy(), metric_options.validate_args()},
        input_(options.input()) {}

 protected:
  ClassLossRules rules_;
  ScoreKind input_;
};

}  // namespace tally::internal::classification

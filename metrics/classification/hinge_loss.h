#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/metrics/classification/inputs/declared_inputs.h"
#include "tally/metrics/classification/pointwise/loss_sums.h"
#include "tally/metrics/common/option_words.h"
#include "tally/metrics/metric_of.h"

namespace tally {
namespace internal {

inline constexpr MetricSummary kHingeLossSummary{
    "Mean hinge loss of decision values.",
    "[0, inf)",
    "",
    "hinge, crammer-singer, svm loss",
    R"(\frac{1}{N} \sum_n \max(0, 1 - m_n))",
    "Crammer and Singer 2001"};

}  // namespace internal

/// Options of BinaryHingeLoss.
struct BinaryHingeLossOptions {
  /// Use squared losses.
  TORCH_ARG(bool, squared) = false;
  /// Positions with this target are ignored. It need not be 0 or 1.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("squared", squared_, internal::words::kSquaredHinge);
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
};

/// The definition of the margin with several classes.
enum class HingeMode {
  kCrammerSinger,  ///< the target's score minus the largest other score
  kOneVsAll,       ///< each class against the others, one value per class
};

template <>
struct EnumNames<HingeMode> {
  static constexpr const char* kNames[] = {"crammer-singer", "one-vs-all"};
};

/// Options of MulticlassHingeLoss.
///
/// Example:
///     MulticlassHingeLoss loss(
///         MulticlassHingeLossOptions(3).mode(HingeMode::kOneVsAll));
struct MulticlassHingeLossOptions {
  /// The number of classes, at least 2.
  template <class Count, RequireCount<Count> = 0>
  MulticlassHingeLossOptions(Count num_classes)
      : num_classes_(static_cast<std::int64_t>(num_classes)) {}
  explicit MulticlassHingeLossOptions(internal::Unset) : num_classes_(0) {}

  /// Targets are 0 to num_classes - 1.
  TORCH_ARG(std::int64_t, num_classes);
  /// Use squared losses.
  TORCH_ARG(bool, squared) = false;
  TORCH_ARG(HingeMode, mode) = HingeMode::kCrammerSinger;
  /// Positions with this target are ignored. It need not be a class.
  TORCH_ARG(std::optional<std::int64_t>, ignore_index) = std::nullopt;

 public:
  void visit(OptionVisitor& v) {
    v("num_classes", num_classes_, OptionRole::kSize,
      internal::words::kNumClasses);
    v("squared", squared_, internal::words::kSquaredHinge);
    v("mode", mode_, "crammer-singer (best other class) or one-vs-all.");
    v("ignore_index", ignore_index_, internal::words::kIgnoredTargets);
  }
  Dimensions dimensions() const { return {Dimension::kClass}; }
  void validate(const char* metric) const;
};

/// The sums used by BinaryHingeLoss.
class BinaryMargins {
 public:
  static constexpr const char* kName = "BinaryMargins";
  static constexpr const auto& kInputs =
      internal::classification::kBinaryScoreInputs;
  using Options = BinaryHingeLossOptions;
  using State = internal::classification::WeightedSum;

  BinaryMargins(const Options& options, const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  internal::classification::BinaryRules rules_;
  bool squared_;
};

/// The sums used by MulticlassHingeLoss.
class MulticlassMargins {
 public:
  static constexpr const char* kName = "MulticlassMargins";
  static constexpr const auto& kInputs =
      internal::classification::kMulticlassScoreInputs;
  using Options = MulticlassHingeLossOptions;

  struct State {
    at::Tensor sums;  // float64 [num_classes] or, of kCrammerSinger, []
    Number weight;
    void fields(Fields& f) { f("sums", sums)("weight", weight); }
  };

  MulticlassMargins(const Options& options,
                    const MetricOptions& metric_options);

  State observe(const at::Tensor& preds, const at::Tensor& target,
                const at::Tensor& weight = {}) const;

 private:
  State one_vs_all(const at::Tensor& preds, const at::Tensor& target,
                   const at::Tensor& weight) const;

  internal::classification::ClassLossRules rules_;
  bool squared_;
  HingeMode mode_;
};

/// The mean hinge loss of decision values.
///
///     loss_i = max(0, 1 - y_i preds_i), y_i = 1 where the target is 1, else -1
///     HingeLoss = sum w_i loss_i / sum w_i, of squares if `squared`
///
/// update(preds, target, weight = {}): decision values [N, ...], floating
/// point, used as they are, 0 and 1 [N, ...] of any real dtype, weights [N,
/// ...] (default: 1). Result: 0-dim float64, in [0, inf).
///
/// State: the sums of w_i loss_i and of w_i (kSum). Without data it is NaN. A
/// NaN in a score or weight makes the result NaN; with kIgnore that position is
/// ignored. Labels other than 0 and 1 are a c10::IndexError.
///
/// Differentiable in preds and weight. Source: hinge_loss of scikit-learn.
///
/// Example:
///     BinaryHingeLoss loss;
///     loss.update(preds, target);
///     at::Tensor value = loss.compute();
class BinaryHingeLoss final
    : public MetricOf<BinaryHingeLoss, BinaryMargins, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "BinaryHingeLoss";
  static constexpr MetricSummary kSummary =
      internal::kHingeLossSummary.binary();
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

/// The mean hinge loss of decision values for each class.
///
///     kCrammerSinger: max(0, 1 - (preds[target] - max of the others))
///     kOneVsAll: max(0, 1 - y_c preds[c]) of class c, y_c = 1 for the target,
///         else -1
/// of squares if `squared`; weighted by w_i.
///
/// update(preds, target, weight = {}): decision values [N, C, ...], floating
/// point, used as they are, classes [N, ...] of any real dtype, weights [N,
/// ...] (default: 1). Result: float64 in [0, inf), of shape [] or, with
/// kOneVsAll, [C].
///
/// State: the sums of w_i times the losses and of w_i (kSum). Without data it
/// is NaN. A NaN among a position's scores or in its weight makes the result
/// NaN; with kIgnore that position is ignored. An invalid class is a
/// c10::IndexError.
///
/// Differentiable in preds and weight. Source: hinge_loss of scikit-learn
/// (Crammer and Singer, 2001).
///
/// Example:
///     MulticlassHingeLoss loss(3);
///     loss.update(preds, target);
///     at::Tensor value = loss.compute();
class MulticlassHingeLoss final
    : public MetricOf<MulticlassHingeLoss, MulticlassMargins, at::Tensor> {
 public:
  using MetricOf::MetricOf;

  static constexpr const char* kName = "MulticlassHingeLoss";
  static constexpr MetricSummary kSummary =
      internal::kHingeLossSummary.multiclass();
  static constexpr bool kIsDifferentiable = true;
  static constexpr std::optional<bool> kHigherIsBetter = false;

  at::Tensor evaluate(const State& state) const;
};

extern template class MetricOf<BinaryHingeLoss, BinaryMargins, at::Tensor>;
extern template class MetricOf<MulticlassHingeLoss, MulticlassMargins,
                               at::Tensor>;

}  // namespace tally

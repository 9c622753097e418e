#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <type_traits>

#include "tally/metrics/classification/curves/curve_options.h"
#include "tally/metrics/classification/curves/curve_view.h"
#include "tally/metrics/metric_of.h"

namespace tally::internal::classification {

/// The rates by which a threshold is chosen.
enum class Rate { kPrecision, kRecall, kSpecificity };

/// For each curve, the best `wanted` rate among the thresholds where the `held`
/// one is at least `least`, and its threshold.
struct BestThresholds {
  at::Tensor rate;
  at::Tensor threshold;
};
BestThresholds best_thresholds(const CurveView& view, Rate wanted, Rate held,
                               double least);

/// Throws c10::ValueError unless in [0, 1].
void check_least_rate(const char* metric, const char* option, double least);

/// Options of a rate at a fixed one: those of `Curve`, and the minimum of the
/// fixed one, the option `Derived::kLeast`.
template <class Derived, template <class> class Curve>
class FixedRateOptions : public Curve<Derived> {
 public:
  FixedRateOptions() = default;
  /// Binary.
  template <class T, std::enable_if_t<
                         std::is_floating_point_v<T> &&
                             std::is_default_constructible_v<Curve<Derived>>,
                         int> = 0>
  FixedRateOptions(T least) : least_(least) {}
  /// Multiclass and multilabel: the number of classes or labels comes first.
  template <class Count, RequireCount<Count> = 0>
  FixedRateOptions(Count curves, double least = -1)
      : Curve<Derived>(curves), least_(least) {}
  explicit FixedRateOptions(internal::Unset unset) : Curve<Derived>(unset) {}

  void visit(OptionVisitor& v) {
    Curve<Derived>::visit(v);
    v(Derived::kLeast, least_, OptionRole::kValue,
      "Minimum of this rate, in [0, 1].");
  }
  void validate(const char* metric) const {
    Curve<Derived>::validate(metric);
    check_least_rate(metric, Derived::kLeast, least_);
  }

  /// The option named Derived::kLeast.
  double least() const { return least_; }

 protected:
  double least_ = -1;
};

/// The best rate Result::kWanted among the thresholds where Result::kHeld is
/// high enough, and its threshold.
template <class Derived, class Curve, class Result, class Options>
class FixedRateMetric : public MetricOf<Derived, Curve, Result, Options> {
 public:
  using MetricOf<Derived, Curve, Result, Options>::MetricOf;

  Result evaluate(const CurveState& state) const {
    const Options& options = this->options();
    const BestThresholds best = best_thresholds(
        {state, options}, Result::kWanted, Result::kHeld, options.least());
    return {best.rate, best.threshold};
  }
};

}  // namespace tally::internal::classification

#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tally/metrics/intervals/interval.h"
#include "tally/metrics/options.h"

namespace tally {

/// How two models are compared.
enum class ComparisonMethod {
  kAuto,             ///< by the kind of metric
  kMcnemar,          ///< which rows only one of them gets right
  kDelong,           ///< DeLong's covariance of two AUROCs
  kPoisson,          ///< bootstrap: each row has a weight of Poisson(1)
  kDoubleOrNothing,  ///< bootstrap: each row has a weight of 0 or 2
  kJackknife,        ///< leaves out one unit, or block of them, at a time
};

template <>
struct EnumNames<ComparisonMethod> {
  static constexpr const char* kNames[] = {
      "auto", "mcnemar", "delong", "poisson", "double_or_nothing", "jackknife"};
};

/// The difference of a part of two results.
struct Comparison {
  static constexpr const char* kNoun = "comparison";

  /// The difference, its ends and its p-value as numbers. Throw c10::ValueError
  /// unless it has one element.
  double number() const {
    return internal::number_of("difference", difference);
  }
  IntervalBounds ends() const {
    return {internal::number_of("low", low), internal::number_of("high", high)};
  }
  double p_number() const { return internal::number_of("p_value", p_value); }

  /// float64, of the shape of the part: both values, first - second, the ends
  /// of the difference's interval, and the p-value of no difference; NaN where
  /// there is none, and flags say why.
  at::Tensor first;
  at::Tensor second;
  at::Tensor difference;
  at::Tensor low;
  at::Tensor high;
  at::Tensor p_value;
  at::Tensor standard_error;  ///< of the difference; NaN: not known
  /// See Interval.
  at::Tensor degrees_of_freedom;
  double level = 0;
  ComparisonMethod method = ComparisonMethod::kAuto;  ///< the one used
  std::int64_t n = 0;           ///< rows that came, over all ranks
  double counted = 0;           ///< see Interval
  double units = 0;             ///< that count
  std::string unit = "row";     ///< "row", "group", "query", "image"
  std::int64_t replicates = 0;  ///< or blocks; 0 for formulas
  /// Replicates, or blocks, in which either has no value: the most for any
  /// element.
  std::int64_t undefined = 0;
  IntervalFlags flags;  ///< of any element
};

/// Comparisons by name.
class Comparisons : public NamedParts<Comparison> {
 public:
  using NamedParts::NamedParts;

  /// "name.first", "name.second", "name.difference", "name.low", "name.high"
  /// and "name.p_value"; "first" and so on for an empty name.
  Results results() const;
};

void for_each_tensor(Comparison& comparison,
                     c10::function_ref<void(at::Tensor&)> visit);
inline void for_each_tensor(Comparisons& comparisons,
                            c10::function_ref<void(at::Tensor&)> visit) {
  comparisons.for_each_part(
      [&](Comparison& part) { for_each_tensor(part, visit); });
}

}  // namespace tally

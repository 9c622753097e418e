#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tally/metrics/options.h"
#include "tally/state/number.h"

namespace tally {

/// How the scores of several outputs are combined.
enum class MultiOutput {
  kUniformAverage,    ///< their mean
  kRawValues,         ///< not combined: [num_outputs]
  kVarianceWeighted,  ///< their mean, weighted by the variances of the targets
};

template <>
struct EnumNames<MultiOutput> {
  static constexpr const char* kNames[] = {"uniform_average", "raw_values",
                                           "variance_weighted"};
};

/// Scores of the form 1 - unexplained / all.
namespace internal::regression {

/// If `all` is 0: 1 if nothing is unexplained, otherwise 0, as in scikit-learn,
/// with gradient 0.
double explained_fraction(double unexplained, double all);
at::Tensor explained_fraction(const at::Tensor& unexplained,
                              const at::Tensor& all);
/// NaN for fewer than two samples.
at::Tensor explained_fraction(const Number& unexplained, const Number& all,
                              std::int64_t samples);

/// Averages scores [num_outputs], with the weights for kVarianceWeighted;
/// weights that are all 0 are treated as equal.
at::Tensor average_outputs(const at::Tensor& scores, const at::Tensor& weights,
                           MultiOutput multioutput);

}  // namespace internal::regression
}  // namespace tally

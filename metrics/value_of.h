#pragma once

#include <ATen/core/Tensor.h>

#include <type_traits>
#include <utility>

#include "tally/metrics/metric_options.h"

namespace tally {
namespace internal {

template <class M, class... Args>
typename M::Result value_with(typename M::Options options,
                              const Args&... args) {
  M metric(std::move(options), MetricOptions().dist_sync_on_step(false));
  return metric.forward(args...);
}

}  // namespace internal

/// The functional form of a metric: its value for the given inputs. Nothing is
/// accumulated, and nothing is exchanged between ranks; the value has a graph
/// if the metric is differentiable and an input has one. The options come first
/// and can be omitted if all have a default. Errors: those of the metric.
///
/// Example:
///     at::Tensor f1 = value_of<MulticlassF1Score>(10, preds, target);
///     at::Tensor weighted = value_of<MulticlassF1Score>(
///         MulticlassF1ScoreOptions(10).average(Average::kWeighted), preds,
///         target);
///     at::Tensor error = value_of<MeanSquaredError>(scores, scores.square());
template <class M, class First, class... Args>
typename M::Result value_of(const First& first, const Args&... args) {
  if constexpr (std::is_convertible_v<const First&, typename M::Options> &&
                !std::is_same_v<First, at::Tensor>) {
    return internal::value_with<M>(first, args...);
  } else {
    return internal::value_with<M>(typename M::Options(), first, args...);
  }
}

}  // namespace tally

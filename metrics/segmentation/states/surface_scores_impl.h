#pragma once

#include <ATen/Parallel.h>

#include "tally/metrics/segmentation/states/surface_scores.h"

/// The loop of SurfaceScores.
namespace tally {

template <class Measure>
SurfaceScoresState SurfaceScores<Measure>::observe(
    const at::Tensor& preds, const at::Tensor& target) const {
  namespace segmentation = internal::segmentation;
  const auto surfaces = segmentation::batch_surfaces(preds, target, inputs_);
  const auto count = static_cast<std::int64_t>(surfaces->cases.size());
  std::vector<double> scores(surfaces->cases.size());
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const segmentation::SurfacePair& pair = surfaces->cases[i];
      if (pair.preds.is_empty || pair.target.is_empty) continue;
      scores[i] = measure_(pair, surfaces->sizes);
    }
  });
  State state = segmentation::sum_cases(*surfaces, scores);
  if (inputs_.format.nan_policy == NanPolicy::kPropagate) {
    state.nan_samples = surfaces->nan_samples;
  }
  if (!preds.is_cpu()) {
    state.sums = state.sums.to(preds.device());
    state.cases = state.cases.to(preds.device());
  }
  return state;
}

}  // namespace tally

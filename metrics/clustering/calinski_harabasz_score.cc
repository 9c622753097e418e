#include "tally/metrics/clustering/calinski_harabasz_score.h"

#include <limits>

namespace tally {

at::Tensor CalinskiHarabaszScore::evaluate(const State& state) const {
  const auto moments = internal::clustering::merged_moments(state);
  const std::int64_t clusters = moments.clusters();
  if (clusters < 2 || clusters >= moments.total) {
    return internal::scalar_tensor(std::numeric_limits<double>::quiet_NaN());
  }
  const at::Tensor inside = moments.squares.sum();
  if (inside.detach().item<double>() == 0) {
    // Points of one cluster that are all the same have deviations of exactly 0.
    return internal::scalar_tensor(1.0).to(inside.device());
  }
  const at::Tensor weights =
      moments.counts.to(at::kDouble).unsqueeze(1).div(moments.total);
  const at::Tensor origin = moments.means.select(0, 0).detach();
  const at::Tensor centered = moments.means.sub(origin);
  const at::Tensor mean = centered.mul(weights).sum(0);
  const at::Tensor between =
      centered.sub(mean).square().mul(weights).sum().mul(moments.total);
  return between.mul(moments.total - clusters).div(inside.mul(clusters - 1));
}

}  // namespace tally

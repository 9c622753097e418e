#include "tally/losses/codebook/kmeans.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "tally/losses/codebook/fixed_order.h"
#include "tally/losses/codebook/nearest.h"

namespace tally::losses::internal {
at::Tensor sums_of_codes(const at::Tensor& tokens, const at::Tensor& indices,
                         std::int64_t codes) {
  const at::Tensor wide = tokens.to(at::kDouble);
  const at::Tensor with_ones =
      at::cat({wide, at::ones({wide.size(0), 1}, wide.options())}, 1);
  return at::zeros({codes, with_ones.size(1)}, wide.options())
      .index_add_(0, indices, with_ones);
}

Clusters kmeans(const at::Tensor& tokens, const at::Tensor& means,
                std::int64_t iterations, bool cosine, SumOverRanks sum) {
  const at::Tensor wide = tokens.to(at::kDouble);
  const std::int64_t codes = means.size(0), dims = means.size(1);
  Clusters clusters{means.to(at::kDouble), {}};
  for (std::int64_t i = 0; i < iterations; ++i) {
    const at::Tensor sums =
        sum(sums_of_codes(wide, nearest(wide, clusters.means, cosine), codes));
    clusters.counts = sums.select(1, dims);
    const at::Tensor counts = clusters.counts.unsqueeze(1);
    at::Tensor fresh = sums.narrow(1, 0, dims).div(counts.clamp_min(1));
    if (cosine) fresh = unit_vectors(fresh);
    clusters.means = at::where(counts.gt(0), fresh, clusters.means);
  }
  return clusters;
}

}  // namespace tally::losses::internal

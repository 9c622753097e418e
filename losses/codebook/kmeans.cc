#include "tally/losses/codebook/kmeans.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

namespace tally::losses::internal {
namespace {

constexpr std::int64_t kBytesAtOnce = 16 << 20;

}  // namespace

at::Tensor unit_vectors(const at::Tensor& vectors) {
  return vectors.div(vectors.norm(2, {-1}, /*keepdim=*/true).clamp_min(1e-6));
}

at::Tensor nearest(const at::Tensor& tokens, const at::Tensor& codes,
                   bool cosine) {
  if (tokens.size(0) == 0) {
    return at::empty({0}, tokens.options().dtype(at::kLong));
  }
  // |x - c|^2 is least where <x, c> - |c|^2 / 2 is most.
  const at::Tensor half_squares = codes.square().sum(-1).div(2);
  const std::int64_t rows = std::max<std::int64_t>(
      1, kBytesAtOnce / (codes.size(0) * codes.element_size()));
  std::vector<at::Tensor> indices;
  for (const at::Tensor& piece : tokens.split(rows)) {
    at::Tensor products = piece.matmul(codes.t());
    if (!cosine) products.sub_(half_squares);
    indices.push_back(products.argmax(-1));
  }
  return at::cat(indices);
}

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

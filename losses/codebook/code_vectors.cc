#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/ScalarType.h>

#include <cmath>

#include "tally/losses/codebook/fixed_order.h"
#include "tally/losses/codebook/kmeans.h"
#include "tally/losses/codebook/nearest_codes.h"
#include "tally/losses/codebook/projection.h"
#include "tally/sync/autograd.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {
namespace {

at::Tensor fixed_sqrt(const at::Tensor& values) {
  // On a CPU ATen leaves it to MKL, which does not round it the same way
  // everywhere.
  if (!values.is_cpu()) return values.detach().sqrt();
  at::Tensor roots = values.detach().clone(at::MemoryFormat::Contiguous);
  AT_DISPATCH_FLOATING_TYPES(roots.scalar_type(), "fixed_sqrt", [&] {
    auto* root = roots.mutable_data_ptr<scalar_t>();
    for (auto* const end = root + roots.numel(); root != end; ++root) {
      *root = std::sqrt(*root);
    }
  });
  return roots;
}

}  // namespace

at::Tensor fixed_sum(const at::Tensor& terms) {
  const at::NoGradGuard no_grad;
  at::Tensor sums = terms.detach().clone();
  if (sums.size(-1) == 0) {
    return at::zeros(sums.sizes().slice(0, sums.dim() - 1), sums.options());
  }
  // The second half is added to the first.
  for (std::int64_t size = sums.size(-1); size > 1;) {
    const std::int64_t half = (size + 1) / 2;
    sums.narrow(-1, 0, size - half).add_(sums.narrow(-1, half, size - half));
    size = half;
  }
  return sums.select(-1, 0).clone();
}

at::Tensor fixed_product(const at::Tensor& vectors, const at::Tensor& matrix) {
  at::Tensor values;
  {
    const at::NoGradGuard no_grad;
    values = vectors.narrow(-1, 0, 1).mul(matrix[0]);
    for (std::int64_t k = 1; k < matrix.size(0); ++k) {
      values.add_(vectors.narrow(-1, k, 1).mul(matrix[k]));
    }
  }
  if (!vectors.requires_grad()) return values;
  return sync::replace_values(vectors.matmul(matrix), values);
}

at::Tensor unit_vectors(const at::Tensor& vectors) {
  at::Tensor lengths =
      fixed_sqrt(fixed_sum(vectors.detach().square())).unsqueeze(-1);
  if (vectors.requires_grad()) {
    lengths =
        sync::replace_values(vectors.norm(2, {-1}, /*keepdim=*/true), lengths);
  }
  return vectors.div(lengths.clamp_min(1e-6));
}

at::Tensor projected(const torch::nn::LinearImpl& layer,
                     const at::Tensor& vectors) {
  using sync::accumulate_dtype;
  const at::ScalarType dtype =
      c10::promoteTypes(accumulate_dtype(vectors.scalar_type()),
                        accumulate_dtype(layer.weight.scalar_type()));
  return at::linear(vectors.to(dtype), layer.weight.to(dtype),
                    layer.bias.defined() ? layer.bias.to(dtype) : layer.bias);
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

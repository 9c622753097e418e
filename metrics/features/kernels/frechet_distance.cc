#include "tally/metrics/features/kernels/frechet_distance.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_cholesky_ex.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/linalg_eigvalsh.h>
#include <ATen/ops/linalg_svd.h>
#include <ATen/ops/linalg_svdvals.h>
#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tally::internal::features {
namespace {

// Eigenvalues below this part of the largest are those of zero, by rounding.
double least_part(std::int64_t dims) {
  return static_cast<double>(dims) * std::numeric_limits<double>::epsilon();
}

double freedom(const Moments& moments) {
  return static_cast<double>(moments.total - 1);
}

at::Tensor variance(const Moments& m) {
  return (m.has_rows() ? m.scatter.square().sum() : m.scatter.diagonal().sum())
      .div(freedom(m));
}

// The sum of the roots of a matrix's eigenvalues. As the eigenvectors' own
// gradients cancel, it has that of a linear function, also where eigenvalues
// are equal.
at::Tensor sum_of_roots(const at::Tensor& matrix) {
  if (matrix.size(0) == 0) return matrix.sum();
  if (!matrix.requires_grad()) {
    return at::linalg_eigvalsh(matrix).clamp_min(0).sqrt().sum();
  }
  const at::Tensor plain = matrix.detach();
  const auto [values, vectors] = at::linalg_eigh(plain);
  const at::Tensor least = values.select(0, -1).mul(least_part(values.size(0)));
  const at::Tensor slopes =
      values.clamp_min(least).sqrt().reciprocal().mul(0.5).masked_fill(
          values.le(least), 0);
  const at::Tensor gradient = vectors.mul(slopes).matmul(vectors.t());
  return values.clamp_min(0).sqrt().sum().add(
      matrix.sub(plain).mul(gradient).sum());
}

at::Tensor sum_of_singular_values(const at::Tensor& matrix) {
  if (matrix.numel() == 0) return matrix.sum();
  if (!matrix.requires_grad()) return at::linalg_svdvals(matrix).sum();
  const at::Tensor plain = matrix.detach();
  const auto [u, values, v] = at::linalg_svd(plain, /*full_matrices=*/false);
  const at::Tensor kept =
      values.gt(values.select(0, 0).mul(least_part(matrix.size(0))));
  const at::Tensor gradient = u.mul(kept).matmul(v);
  return values.sum().add(matrix.sub(plain).mul(gradient).sum());
}

// L with L L^T = products, lower triangular; undefined if they are singular or
// nearly so.
at::Tensor triangular_root(const at::Tensor& products) {
  const auto [root, info] = at::linalg_cholesky_ex(products);
  if (info.item().toLong() != 0) return {};
  const at::Tensor pivots = root.diagonal().square();
  const double least = least_part(products.size(0)) *
                       products.diagonal().max().item().toDouble();
  return pivots.min().item().toDouble() > least ? root : at::Tensor();
}

// R with R R^T = products, [D, rank].
at::Tensor any_root(const at::Tensor& products) {
  const auto [values, vectors] = at::linalg_eigh(products);
  const at::Tensor least = values.select(0, -1).mul(least_part(values.size(0)));
  const at::Tensor kept = values.gt(least).nonzero().squeeze(1);
  return vectors.index_select(1, kept).mul(values.index_select(0, kept).sqrt());
}

// tr (A B)^1/2 of products.
at::Tensor trace_of_root(const at::Tensor& a, const at::Tensor& b) {
  for (const bool swapped : {false, true}) {
    const at::Tensor root = triangular_root(swapped ? b : a);
    if (!root.defined()) continue;
    return sum_of_roots(root.t().matmul(swapped ? a : b).matmul(root));
  }
  return sum_of_singular_values(any_root(a).t().matmul(any_root(b)));
}

// What trace_of_root(a, b) has as gradient for b, as a function linear in b
// that is 0 here.
at::Tensor change_of_trace(const at::Tensor& a, const at::Tensor& b) {
  if (!b.requires_grad()) return at::scalar_tensor(0.0, b.options());
  const at::Tensor root = any_root(a.detach());
  const at::Tensor sum = sum_of_roots(root.t().matmul(b).matmul(root));
  return sum.sub(sum.detach());
}

at::Tensor trace_of_products(at::Tensor a, at::Tensor b) {
  // Columns that are constant in either have no part in it.
  const at::Tensor varies =
      a.detach().diagonal().gt(0).logical_and(b.detach().diagonal().gt(0));
  if (!varies.all().item().toBool()) {
    const at::Tensor kept = varies.nonzero().squeeze(1);
    if (kept.size(0) == 0) return a.sum().add(b.sum()).mul(0);
    a = a.index_select(0, kept).index_select(1, kept);
    b = b.index_select(0, kept).index_select(1, kept);
  }
  at::Tensor value = trace_of_root(a.detach(), b.detach());
  if (a.requires_grad() || b.requires_grad()) {
    value = value.add(change_of_trace(a, b)).add(change_of_trace(b, a));
  }
  return value;
}

at::Tensor trace_of_scatters(const Moments& a, const Moments& b) {
  if (a.has_rows() && b.has_rows()) {
    // Mathiasen and Hvilshoj 2020.
    return sum_of_singular_values(a.scatter.matmul(b.scatter.t()));
  }
  if (a.has_rows()) {
    return sum_of_roots(a.scatter.matmul(b.scatter).matmul(a.scatter.t()));
  }
  if (b.has_rows()) return trace_of_scatters(b, a);
  return trace_of_products(a.scatter, b.scatter);
}

bool is_finite(const Moments& moments) {
  return moments.mean.detach().sum().isfinite().item().toBool() &&
         moments.scatter.detach().sum().isfinite().item().toBool();
}

}  // namespace

at::Tensor frechet_distance(const Moments& a, const Moments& b) {
  if (a.total < 2 || b.total < 2 || !is_finite(a) || !is_finite(b)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return at::scalar_tensor(nan, at::kDouble);
  }
  const at::Tensor cross =
      trace_of_scatters(a, b).div(std::sqrt(freedom(a) * freedom(b)));
  return a.mean.sub(b.mean)
      .square()
      .sum()
      .add(variance(a))
      .add(variance(b))
      .sub(cross, 2)
      .clamp_min(0);
}

}  // namespace tally::internal::features

#include "tally/losses/soft_order/soft_order.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tally/losses/autocast.h"
#include "tally/losses/soft_order/isotonic.h"
#include "tally/sync/reduction.h"

namespace tally::losses {
namespace {

using internal::IsotonicBlocks;

template <class Options>
void check(const char* name, const Options& options) {
  TORCH_CHECK_VALUE(std::isfinite(options.strength()) && options.strength() > 0,
                    name, ": expected strength above 0, got ",
                    options.strength());
}

/// Rows of values, and how results are brought back.
struct Rows {
  at::Tensor values;  ///< [B, n], float64, finite, with the graph
  at::Tensor order;   ///< [B, n]: from the largest to the smallest
  at::Tensor finite;  ///< [B, 1]: whether the row was
  at::Tensor scale;   ///< [B, 1], what values were divided by; may be undefined
  at::Tensor center;  ///< [B, 1], with scale: what was subtracted before
};

template <class Options>
Rows rows_of(const char* name, const at::Tensor& values, const Options& options,
             bool negated) {
  check(name, options);
  TORCH_CHECK_VALUE(
      values.defined() && values.layout() == at::kStrided &&
          values.is_floating_point() && values.dim() >= 1,
      name, ": expected values of size [..., n] and a floating dtype, got ",
      values.defined() ? c10::str(values.toString(), ' ', values.sizes())
                       : "an undefined tensor");
  Rows rows;
  if (values.numel() == 0) return rows;
  const at::Tensor given = values.reshape({-1, values.size(-1)});
  const at::Tensor finite = given.detach().isfinite();
  rows.finite = finite.all(1, /*keepdim=*/true);
  const at::Tensor clean = given.masked_fill(finite.logical_not(), 0);
  const at::Tensor signed_values = negated ? clean.neg() : clean;
  rows.order = internal::descending_order(signed_values).to(values.device());
  rows.values = signed_values.to(at::kDouble);
  if (options.relative()) {
    rows.center = rows.values.mean(1, /*keepdim=*/true);
    const at::Tensor centered = rows.values.sub(rows.center);
    const at::Tensor variance = centered.square().mean(1, /*keepdim=*/true);
    // The root has an infinite slope at 0.
    rows.scale =
        at::where(variance.eq(0), at::ones_like(variance), variance).sqrt();
    rows.values = centered.div(rows.scale);
  }
  return rows;
}

at::Tensor result_of(const at::Tensor& values, const at::Tensor& finite,
                     const at::Tensor& result) {
  return result
      .masked_fill(finite.logical_not(),
                   std::numeric_limits<double>::quiet_NaN())
      .reshape(values.sizes())
      .to(sync::accumulate_dtype(values.scalar_type()));
}

at::Tensor empty_result(const at::Tensor& values) {
  return values.to(sync::accumulate_dtype(values.scalar_type()));
}

/// n, ..., 1 for each row.
at::Tensor weights_like(const at::Tensor& rows) {
  return at::arange(rows.size(1), 0, -1, rows.options().requires_grad(false))
      .expand(rows.sizes());
}

/// For each place, the sum over its block.
at::Tensor sums(const at::Tensor& x, const IsotonicBlocks& blocks) {
  return at::zeros({blocks.sizes.numel()}, x.options().requires_grad(false))
      .index_add(0, blocks.of_place, x.flatten())
      .index_select(0, blocks.of_place)
      .view(x.sizes());
}

at::Tensor means(const at::Tensor& x, const IsotonicBlocks& blocks) {
  const at::Tensor sizes =
      blocks.sizes.index_select(0, blocks.of_place).view(x.sizes());
  return sums(x, blocks).div(sizes);
}

/// For each place, the first of its block, which is the largest.
at::Tensor firsts(const at::Tensor& x, const IsotonicBlocks& blocks) {
  const at::Tensor begins = blocks.sizes.cumsum(0).sub(blocks.sizes);
  return x.detach()
      .flatten()
      .index_select(0, begins.index_select(0, blocks.of_place))
      .view(x.sizes());
}

IsotonicBlocks moved(IsotonicBlocks blocks, at::Device device) {
  return {blocks.of_place.to(device), blocks.sizes.to(device)};
}

/// With kQuadratic or kEntropic.
IsotonicBlocks blocks_of(SoftOrderPenalty penalty, const at::Tensor& s,
                         const at::Tensor& w) {
  const at::Tensor of_s = s.detach().cpu(), of_w = w.detach().cpu();
  return moved(penalty == SoftOrderPenalty::kQuadratic
                   ? internal::quadratic_blocks(of_s, of_w)
                   : internal::entropic_blocks(of_s, of_w),
               s.device());
}

}  // namespace

namespace functional {

at::Tensor soft_rank(const at::Tensor& values, const SoftRankOptions& options) {
  const internal::AutocastOff as_written;
  const Rows rows =
      rows_of(SoftRankImpl::kName, values, options, options.descending());
  if (values.numel() == 0) return empty_result(values);
  const at::Tensor s =
      rows.values.div(options.strength()).gather(1, rows.order);
  const at::Tensor w = weights_like(s);
  at::Tensor ranks;
  // Not s - v, which has no digit of a rank where s is large.
  if (options.penalty() == SoftOrderPenalty::kQuadratic) {
    const IsotonicBlocks blocks = blocks_of(options.penalty(), s, w);
    const at::Tensor differences = s.sub(firsts(s, blocks));
    ranks = differences.sub(means(differences, blocks)).add(means(w, blocks));
  } else {
    const IsotonicBlocks blocks = blocks_of(options.penalty(), s, w.log());
    const at::Tensor parts = s.sub(firsts(s, blocks)).exp();
    ranks = parts.div(sums(parts, blocks)).mul(sums(w, blocks));
  }
  return result_of(
      values, rows.finite,
      at::zeros_like(ranks.detach()).scatter(1, rows.order, ranks));
}

at::Tensor soft_sort(const at::Tensor& values, const SoftSortOptions& options) {
  const internal::AutocastOff as_written;
  const bool ascending = !options.descending();
  const Rows rows = rows_of(SoftSortImpl::kName, values, options, ascending);
  if (values.numel() == 0) return empty_result(values);
  const at::Tensor s = rows.values.gather(1, rows.order);
  const at::Tensor w = weights_like(s).div(options.strength());
  const IsotonicBlocks blocks = blocks_of(options.penalty(), w, s);
  const at::Tensor steps = w.sub(firsts(w, blocks));
  at::Tensor sorted;
  if (options.penalty() == SoftOrderPenalty::kQuadratic) {
    sorted = steps.sub(means(steps, blocks)).add(means(s, blocks));
  } else {
    const at::Tensor first = firsts(s, blocks);
    sorted = steps.sub(sums(steps.exp(), blocks).log())
                 .add(sums(s.sub(first).exp(), blocks).log())
                 .add(first);
  }
  if (rows.scale.defined()) sorted = sorted.mul(rows.scale).add(rows.center);
  return result_of(values, rows.finite, ascending ? sorted.neg() : sorted);
}

}  // namespace functional

SoftRankImpl::SoftRankImpl(SoftRankOptions options)
    : LossModule(std::move(options)) {
  check(kName, this->options());
}

at::Tensor SoftRankImpl::forward(const at::Tensor& values) {
  return functional::soft_rank(values, options());
}

SoftSortImpl::SoftSortImpl(SoftSortOptions options)
    : LossModule(std::move(options)) {
  check(kName, this->options());
}

at::Tensor SoftSortImpl::forward(const at::Tensor& values) {
  return functional::soft_sort(values, options());
}

}  // namespace tally::losses

#include "tally/losses/soft_order/soft_order.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_dtype.h"
#include "tally/losses/common/shape_text.h"
#include "tally/losses/soft_order/isotonic.h"
#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/key_sort.h"
#include "tally/metrics/common/ordered_bits.h"
#include "tally/metrics/common/tensor_of.h"
#include "tally/sync/reduction.h"

namespace tally::losses::internal {
namespace {

namespace keys = tally::internal::classification;

// Rows of more are sorted by ATen.
constexpr std::int64_t kMostKeys = std::int64_t{1} << 32;

/// The block's level is the difference of two means.
struct Means {
  double s, w;
  double size = 1;
  std::int64_t places = 1;

  Means(double of_s, double of_w) : s(of_s), w(of_w) {}
  // Whether a block after this one is at least at its level. Differences of s
  // are compared with those of w, beside which s may be large.
  bool reached_by(const Means& next) const {
    return next.s / next.size - s / size >= next.w / next.size - w / size;
  }
  void add(const Means& next) {
    s += next.s;
    w += next.w;
    size += next.size;
    places += next.places;
  }
};

double log_of_both(double a, double b) {
  const double most = std::max(a, b);
  return most + std::log1p(std::exp(std::min(a, b) - most));
}

/// The difference of the logarithms of two sums of exponentials.
struct LogSums {
  double s, w;
  std::int64_t places = 1;

  LogSums(double of_s, double of_w) : s(of_s), w(of_w) {}
  bool reached_by(const LogSums& next) const {
    return next.s - s >= next.w - w;
  }
  void add(const LogSums& next) {
    s = log_of_both(s, next.s);
    w = log_of_both(w, next.w);
    places += next.places;
  }
};

/// Pools adjacent violators.
template <class Block>
IsotonicBlocks blocks(const at::Tensor& s, const at::Tensor& w) {
  const at::Tensor given_s = s.contiguous(), given_w = w.contiguous();
  const std::int64_t rows = s.size(0), length = s.size(1);
  const double* const of_s = given_s.const_data_ptr<double>();
  const double* const of_w = given_w.const_data_ptr<double>();
  const auto options = at::TensorOptions().dtype(at::kLong);
  IsotonicBlocks result{at::empty({rows * length}, options), {}};
  auto* const of_place = result.of_place.mutable_data_ptr<std::int64_t>();
  std::vector<std::int64_t> sizes;
  std::vector<Block> stack;
  stack.reserve(static_cast<std::size_t>(length));
  for (std::int64_t row = 0; row < rows; ++row) {
    stack.clear();
    for (std::int64_t i = row * length; i < (row + 1) * length; ++i) {
      Block block(of_s[i], of_w[i]);
      while (!stack.empty() && stack.back().reached_by(block)) {
        stack.back().add(block);
        block = stack.back();
        stack.pop_back();
      }
      stack.push_back(block);
    }
    std::int64_t place = row * length;
    for (const Block& block : stack) {
      std::fill_n(of_place + place, block.places,
                  static_cast<std::int64_t>(sizes.size()));
      place += block.places;
      sizes.push_back(block.places);
    }
  }
  result.sizes = tally::internal::tensor_of(sizes);
  return result;
}

// A number of 32 bits and its place fit into a key of 64.
void order_of(const float* values, std::int64_t count,
              std::vector<std::uint64_t>& room, std::int64_t* order) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = values[i] == values[i] ? values[i] : 0;
    room[i] = std::uint64_t{~tally::internal::ordered_bits(value)} << 32 |
              static_cast<std::uint64_t>(i);
  }
  keys::sort_keys(room.data(), count);
  for (std::int64_t i = 0; i < count; ++i) {
    order[i] = static_cast<std::int64_t>(room[i] & 0xffffffffu);
  }
}

}  // namespace

IsotonicBlocks quadratic_blocks(const at::Tensor& s, const at::Tensor& w) {
  return blocks<Means>(s, w);
}

IsotonicBlocks entropic_blocks(const at::Tensor& s, const at::Tensor& w) {
  return blocks<LogSums>(s, w);
}

at::Tensor descending_order(const at::Tensor& values) {
  const at::Tensor plain = values.detach().cpu();
  const std::int64_t rows = plain.size(0), length = plain.size(1);
  if (plain.scalar_type() != at::kFloat || length > kMostKeys) {
    return std::get<1>(
        at::sort(plain, /*stable=*/true, 1, /*descending=*/true));
  }
  const at::Tensor from = plain.contiguous();
  at::Tensor order =
      at::empty({rows, length}, plain.options().dtype(at::kLong));
  std::vector<std::uint64_t> room(static_cast<std::size_t>(length));
  for (std::int64_t row = 0; row < rows; ++row) {
    order_of(from.const_data_ptr<float>() + row * length, length, room,
             order.mutable_data_ptr<std::int64_t>() + row * length);
  }
  return order;
}

}  // namespace tally::losses::internal

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
      internal::shape_text(values));
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
  return result.masked_fill(finite.logical_not(), tally::internal::kNaN)
      .reshape(values.sizes())
      .to(sync::accumulate_dtype(values.scalar_type()));
}

at::Tensor empty_result(const at::Tensor& values) {
  return internal::in_dtype_of_losses(values);
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

template class internal::LossModule<SoftRankImpl, SoftRankOptions>;
template class internal::LossModule<SoftSortImpl, SoftSortOptions>;

}  // namespace tally::losses

template class torch::nn::Cloneable<tally::losses::SoftRankImpl>;
template class torch::nn::Cloneable<tally::losses::SoftSortImpl>;

#include <ATen/ops/atan2.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstdint>

#include "tally/metrics/common/best_permutation.h"
#include "tally/metrics/detection/kernels/best_pairs.h"
#include "tally/metrics/detection/kernels/overlap_formulas.h"

namespace tally::internal::detection {
namespace {

Edges<at::Tensor> edges_of_boxes(const at::Tensor& boxes) {
  return {boxes.select(-1, 0), boxes.select(-1, 1), boxes.select(-1, 2),
          boxes.select(-1, 3)};
}

}  // namespace

at::Tensor smaller(const at::Tensor& a, const at::Tensor& b) {
  return at::minimum(a, b);
}
at::Tensor larger(const at::Tensor& a, const at::Tensor& b) {
  return at::maximum(a, b);
}
at::Tensor at_least_0(const at::Tensor& a) { return a.clamp_min(0); }
at::Tensor squared(const at::Tensor& a) { return a.square(); }
at::Tensor constant(const at::Tensor& a) { return a.detach(); }

at::Tensor ratio(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor none = b.detach().eq(0);
  return at::where(none, at::zeros_like(b.detach()),
                   a.div(at::where(none, at::ones_like(b.detach()), b)));
}

at::Tensor aspect(const at::Tensor& width, const at::Tensor& height) {
  const at::Tensor none =
      width.detach().eq(0).logical_and(height.detach().eq(0));
  const at::Tensor one = at::ones_like(height.detach());
  return at::where(none, at::zeros_like(one),
                   at::atan2(width, at::where(none, one, height)));
}

std::vector<BoxPair> best_pairs(const std::vector<double>& scores,
                                std::size_t boxes, std::size_t others) {
  const std::size_t size = std::max(boxes, others);
  // What is added to one side has the same score with everything.
  std::vector<double> square(size * size, 0.0);
  for (std::size_t i = 0; i < boxes; ++i) {
    std::copy_n(scores.begin() + static_cast<std::ptrdiff_t>(i * others),
                others, square.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  const std::vector<std::int64_t> other_of = best_permutation(
      square, static_cast<std::int64_t>(size), /*maximize=*/true);
  std::vector<BoxPair> pairs;
  for (std::size_t i = 0; i < boxes; ++i) {
    const auto other = static_cast<std::size_t>(other_of[i]);
    if (other < others) pairs.push_back({i, other});
  }
  return pairs;
}

at::Tensor overlaps_of(const at::Tensor& boxes, const at::Tensor& others,
                       BoxOverlap overlap) {
  return overlap_of(edges_of_boxes(boxes), edges_of_boxes(others), overlap);
}

}  // namespace tally::internal::detection

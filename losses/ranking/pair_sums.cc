#include "tally/losses/ranking/pair_sums.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tally/losses/contrastive/tiles.h"

namespace tally::losses::internal {
namespace {

bool has_nan(const at::Tensor& numbers) {
  return numbers.isnan().any().item<bool>();
}

/// How many numbers are below x, of a sorted array that is not empty. Intervals
/// of equal width say where to look.
class CountBelow {
 public:
  explicit CountBelow(const std::vector<double>& sorted)
      : sorted_(sorted),
        least_(sorted.front()),
        intervals_(static_cast<double>(2 * sorted.size())),
        scale_(std::min(intervals_ / (sorted.back() - sorted.front()),
                        std::numeric_limits<double>::max())),
        begins_(2 * sorted.size() + 2) {
    for (const double number : sorted) ++begins_[interval(number) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  }

  std::int64_t operator()(double x) const {
    if (!(x > least_)) return 0;
    const std::size_t at = interval(x);
    const double* first = sorted_.data() + begins_[at];
    std::int64_t size = begins_[at + 1] - begins_[at];
    while (size > 1) {
      const std::int64_t half = size / 2;
      first = first[half - 1] < x ? first + half : first;
      size -= half;
    }
    return first - sorted_.data() + (size == 1 && *first < x ? 1 : 0);
  }

 private:
  // Not smaller for a larger number.
  std::size_t interval(double x) const {
    return static_cast<std::size_t>(
        std::min(std::max(0.0, (x - least_) * scale_), intervals_));
  }

  const std::vector<double>& sorted_;
  double least_, intervals_, scale_;
  std::vector<std::int64_t> begins_;
};

}  // namespace

PairSums squared_hinge_pairs(const at::Tensor& a, const at::Tensor& b,
                             const at::Tensor& weights) {
  PairSums result{0, at::zeros_like(a), at::zeros_like(b)};
  if (a.numel() == 0) return result;
  if (has_nan(a) || has_nan(b)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, at::full_like(a, nan), at::full_like(b, nan)};
  }
  const at::Tensor given_a = a.contiguous(), given_b = b.contiguous();
  const auto count = static_cast<std::size_t>(a.numel());
  const double* const from = given_a.data_ptr<double>();
  const at::Tensor given_weights =
      weights.defined() ? weights.contiguous() : at::ones_like(given_a);
  const double* const w = given_weights.data_ptr<double>();
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return from[i] != from[j] ? from[i] < from[j] : i < j;
  });
  std::vector<double> sorted(count);
  // Of the k lowest: their weights, and sums by weight.
  std::vector<double> ones(count + 1), sums(count + 1), squares(count + 1);
  for (std::size_t k = 0; k < count; ++k) {
    const double weight = w[order[k]];
    sorted[k] = from[order[k]];
    ones[k + 1] = ones[k] + weight;
    sums[k + 1] = sums[k] + weight * sorted[k];
    squares[k + 1] = squares[k] + weight * sorted[k] * sorted[k];
  }

  const CountBelow below(sorted);
  // Of the b with k lower a: their number and sum.
  std::vector<double> numbers(count + 1), totals(count + 1);
  const double* const larger = given_b.data_ptr<double>();
  double* const by_b = result.by_b.data_ptr<double>();
  for (std::int64_t i = 0; i < b.numel(); ++i) {
    const double x = larger[i];
    const std::int64_t k = below(x);
    result.value += ones[k] * x * x - 2 * x * sums[k] + squares[k];
    by_b[i] = 2 * (ones[k] * x - sums[k]);
    numbers[k] += 1;
    totals[k] += x;
  }
  double* const by_a = result.by_a.data_ptr<double>();
  double number = 0, total = 0;
  for (std::size_t k = count; k > 0; --k) {
    number += numbers[k];
    total += totals[k];
    by_a[order[k - 1]] = 2 * w[order[k - 1]] * (number * sorted[k - 1] - total);
  }
  return result;
}

PairSums logistic_pairs(const at::Tensor& a, const at::Tensor& b, double scale,
                        const at::Tensor& weights) {
  PairSums result{0, at::empty_like(a), at::zeros_like(b)};
  const at::Tensor w = weights.defined() ? weights : at::ones_like(a);
  const std::int64_t at_once = std::max<std::int64_t>(
      1, (1 << 20) / std::max<std::int64_t>(1, b.numel()));
  for_each_range(
      a.numel(), at_once, [&](std::int64_t first, std::int64_t size) {
        const at::Tensor weight = w.narrow(0, first, size).unsqueeze(1);
        const at::Tensor x = b.unsqueeze(0)
                                 .sub(a.narrow(0, first, size).unsqueeze(1))
                                 .mul(scale);
        const at::Tensor slopes = x.sigmoid().mul(weight).mul(scale);
        // Exact also where it is tiny or large.
        result.value += x.clamp_min(0)
                            .add(x.abs().neg().exp().log1p())
                            .mul(weight)
                            .sum()
                            .item<double>();
        result.by_a.narrow(0, first, size).copy_(slopes.sum(1).neg());
        result.by_b.add_(slopes.sum(0));
      });
  return result;
}

}  // namespace tally::losses::internal

#include "tally/losses/soft_order/isotonic.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/sort.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tally/metrics/classification/kernels/key_sort.h"
#include "tally/metrics/classification/kernels/score_keys.h"

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
  result.sizes = at::empty({static_cast<std::int64_t>(sizes.size())}, options);
  std::copy(sizes.begin(), sizes.end(),
            result.sizes.mutable_data_ptr<std::int64_t>());
  return result;
}

// A number of 32 bits and its place fit into a key of 64.
void order_of(const float* values, std::int64_t count,
              std::vector<std::uint64_t>& room, std::int64_t* order) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = values[i] == values[i] ? values[i] : 0;
    room[i] = std::uint64_t{~keys::ordered(value)} << 32 |
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

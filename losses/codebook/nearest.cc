#include "tally/losses/codebook/nearest.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "tally/losses/codebook/nearest_bound.h"
#include "tally/losses/codebook/nearest_kernels.h"

// Compiled without contraction to fused multiply-adds (BUILD).
namespace tally::losses::internal {
namespace {

constexpr std::int64_t kOperationsAtOnce = 1 << 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr int kLanes = 8;
using Lanes = std::array<double, kLanes>;

double sum_of(const Lanes& lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// The sum of term(k), added up in one order whatever the processor: lanes of
/// a vector, however long it is, are sums of their own.
template <class Term>
double fixed_sum(std::int64_t size, const Term& term) {
  Lanes lanes{};
  std::int64_t k = 0;
  for (; k + kLanes <= size; k += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(k + lane);
  }
  for (int lane = 0; k + lane < size; ++lane) lanes[lane] += term(k + lane);
  return sum_of(lanes);
}

/// Squared, of vectors multiplied by `scale`, a power of 2.
template <class T>
double distance(const T* token, const T* code, std::int64_t dims,
                double scale) {
  return fixed_sum(dims, [=](std::int64_t k) {
    const double difference = static_cast<double>(token[k]) * scale -
                              static_cast<double>(code[k]) * scale;
    return difference * difference;
  });
}

template <class T>
double product(const T* a, const T* b, std::int64_t dims) {
  return fixed_sum(dims, [=](std::int64_t k) {
    return static_cast<double>(a[k]) * static_cast<double>(b[k]);
  });
}

template <class T>
double length(const T* vector, std::int64_t dims) {
  return std::sqrt(product(vector, vector, dims));
}

template <class T>
bool all_finite(const T* vector, std::int64_t dims) {
  return std::all_of(vector, vector + dims,
                     [](T value) { return std::isfinite(value); });
}

/// So many that to compare them costs no more than the product.
std::int64_t few(std::int64_t codes) { return 8 + codes / 32; }

/// Some vectors as rows, on the CPU.
template <class T>
struct Rows {
  explicit Rows(const at::Tensor& tensor)
      : data(tensor.const_data_ptr<T>()),
        count(tensor.size(0)),
        dims(tensor.size(1)) {}
  const T* operator[](std::int64_t i) const { return data + i * dims; }

  const T* data;
  std::int64_t count, dims;
};

/// Of some codes, the nearest to a token; the first of equals if they ascend.
template <class T, class Candidates>
std::int64_t choose(const T* token, const Rows<T>& codes, bool cosine,
                    const Candidates& candidates) {
  std::int64_t best = 0;
  double least = kInfinity;
  const auto compare = [&](double scale) {
    best = 0;
    least = kInfinity;
    for (const std::int64_t code : candidates) {
      const double value =
          cosine ? -product(token, codes[code], codes.dims)
                 : distance(token, codes[code], codes.dims, scale);
      if (value < least) {
        least = value;
        best = code;
      }
    }
  };
  compare(1);
  if constexpr (std::is_same_v<T, double>) {
    // Squares that overflow, or that lose bits below the normal numbers.
    if (!cosine && least == kInfinity) compare(0x1p-600);
    if (!cosine && least < 0x1p-900) compare(0x1p500);
  }
  return best;
}

/// Rules codes out by products of matrices.
template <class T>
class Screen {
 public:
  Screen(const at::Tensor& codes, bool cosine)
      : codes_(codes),
        cosine_(cosine),
        bound_(codes.scalar_type(), /*on_cpu=*/true, codes.size(1), cosine) {
    for (std::int64_t j = 0; j < codes_.count; ++j) {
      const double size = length(codes_[j], codes_.dims);
      const bool finite =
          std::isfinite(size) || all_finite(codes_[j], codes_.dims);
      lengths_.push_back(size);
      half_squares_.push_back(static_cast<T>(!finite  ? kInfinity
                                             : cosine ? 0
                                                      : size * size / 2));
      if (finite) longest_ = std::max(longest_, size);
      if (std::isnan(size) && first_nan_ < 0) first_nan_ = j;
    }
  }

  /// The first code with a NaN, or -1.
  std::int64_t first_nan() const { return first_nan_; }

  /// What a thread needs.
  struct Scratch {
    std::vector<T> tops;
    std::vector<std::int64_t> candidates;
  };

  /// The nearest code, or -1 if too many come into question. Overwrites
  /// `products`, which are the token's with all codes.
  std::int64_t settle(const T* token, T* products, Scratch& scratch) const {
    const double size = length(token, codes_.dims);
    if (!std::isfinite(size) && !all_finite(token, codes_.dims)) return 0;
    if (!bound_.holds(size, longest_)) return -1;
    std::vector<T>& tops = scratch.tops;
    tops.resize((codes_.count + kTopBlock - 1) / kTopBlock);
    const T best = subtract_and_top(products, half_squares_.data(),
                                    codes_.count, tops.data());
    std::vector<std::int64_t>& candidates = scratch.candidates;
    find(products, tops,
         best - bound_.error(size, longest_) * 2 - bound_.blur(size, longest_),
         candidates);
    if (candidates.size() > 1) {
      refine(products, best, size, candidates);
      if (candidates.size() > few(codes_.count)) return -1;
    }
    return candidates.size() == 1 ? candidates[0]
                                  : choose(token, codes_, cosine_, candidates);
  }

 private:
  void find(const T* values, const std::vector<T>& tops, double threshold,
            std::vector<std::int64_t>& candidates) const {
    candidates.clear();
    for (std::size_t i = 0; i < tops.size(); ++i) {
      if (!(tops[i] >= threshold)) continue;
      const auto first = static_cast<std::int64_t>(i) * kTopBlock;
      const std::int64_t end = std::min(first + kTopBlock, codes_.count);
      for (std::int64_t j = first; j < end; ++j) {
        if (values[j] >= threshold) candidates.push_back(j);
      }
    }
  }

  /// Short codes have smaller errors than the longest one.
  void refine(const T* values, T best, double size,
              std::vector<std::int64_t>& candidates) const {
    const auto leader =
        std::find_if(candidates.begin(), candidates.end(),
                     [&](std::int64_t j) { return values[j] == best; });
    const double threshold = best - bound_.error(size, lengths_[*leader]) -
                             bound_.blur(size, lengths_[*leader]);
    candidates.erase(
        std::remove_if(candidates.begin(), candidates.end(),
                       [&](std::int64_t j) {
                         return values[j] + bound_.error(size, lengths_[j]) <
                                threshold;
                       }),
        candidates.end());
  }

  Rows<T> codes_;
  bool cosine_;
  NearestBound bound_;
  std::vector<double> lengths_;
  std::vector<T> half_squares_;
  double longest_ = 0;
  std::int64_t first_nan_ = -1;
};

/// The numbers of codes that no earlier one equals.
template <class T>
std::vector<std::int64_t> distinct(const at::Tensor& codes) {
  const Rows<T> rows(codes);
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.count));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return std::lexicographical_compare(rows[a], rows[a] + rows.dims,
                                            rows[b], rows[b] + rows.dims);
      });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](std::int64_t a, std::int64_t b) {
                            return std::equal(rows[a], rows[a] + rows.dims,
                                              rows[b]);
                          }),
              order.end());
  std::sort(order.begin(), order.end());
  return order;
}

/// Calls work(begin, end) for all tokens, on some threads.
template <class Work>
void for_each_token(std::int64_t tokens, std::int64_t operations,
                    const Work& work) {
  // A token costs about as much as so many operations by itself.
  constexpr std::int64_t kOverhead = 256;
  at::parallel_for(
      0, tokens,
      std::max<std::int64_t>(1, kOperationsAtOnce / (operations + kOverhead)),
      work);
}

/// Compares all tokens with all codes.
template <class T>
at::Tensor compare_all(const at::Tensor& tokens, const at::Tensor& codes,
                       bool cosine) {
  const Rows<T> rows(tokens), of_codes(codes);
  std::vector<std::int64_t> all(static_cast<std::size_t>(of_codes.count));
  std::iota(all.begin(), all.end(), 0);
  const at::Tensor indices = at::empty({rows.count}, at::kLong);
  auto* const found = indices.mutable_data_ptr<std::int64_t>();
  for_each_token(rows.count, of_codes.count * of_codes.dims,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     found[i] = choose(rows[i], of_codes, cosine, all);
                   }
                 });
  return indices;
}

/// On the CPU, contiguous.
template <class T>
at::Tensor nearest_on_cpu(const at::Tensor& tokens, const at::Tensor& codes,
                          bool cosine) {
  const Screen<T> screen(codes, cosine);
  const Rows<T> rows(tokens);
  const std::int64_t count = codes.size(0);
  if (screen.first_nan() >= 0) {
    return at::full({rows.count}, screen.first_nan(), at::kLong);
  }
  const at::Tensor indices = at::empty({rows.count}, at::kLong);
  auto* const found = indices.mutable_data_ptr<std::int64_t>();
  const std::int64_t at_once = std::max<std::int64_t>(
      1, kProductBytesAtOnce / (count * static_cast<std::int64_t>(sizeof(T))));
  for (std::int64_t first = 0; first < rows.count; first += at_once) {
    const std::int64_t some = std::min(at_once, rows.count - first);
    const at::Tensor products =
        tokens.narrow(0, first, some).matmul(codes.t()).contiguous();
    T* const values = products.mutable_data_ptr<T>();
    for_each_token(some, count, [&](std::int64_t begin, std::int64_t end) {
      typename Screen<T>::Scratch scratch;
      for (std::int64_t i = begin; i < end; ++i) {
        found[first + i] =
            screen.settle(rows[first + i], values + i * count, scratch);
      }
    });
  }
  const at::Tensor left = indices.lt(0).nonzero().squeeze(1);
  if (left.numel() == 0) return indices;
  const at::Tensor different = at::tensor(distinct<T>(codes));
  const at::Tensor tokens_left = tokens.index_select(0, left);
  const at::Tensor codes_left = codes.index_select(0, different);
  const bool compare =
      std::is_same_v<T, double> || codes_left.size(0) <= few(count);
  const at::Tensor chosen =
      compare ? compare_all<T>(tokens_left, codes_left, cosine)
              : nearest_on_cpu<double>(tokens_left.to(at::kDouble),
                                       codes_left.to(at::kDouble), cosine);
  indices.index_copy_(0, left, different.index_select(0, chosen));
  return indices;
}

}  // namespace

at::Tensor nearest(const at::Tensor& tokens, const at::Tensor& codes,
                   bool cosine) {
  if (!tokens.is_cpu()) return nearest_by_device(tokens, codes, cosine);
  return tokens.scalar_type() == at::kDouble
             ? nearest_on_cpu<double>(tokens.contiguous(), codes.contiguous(),
                                      cosine)
             : nearest_on_cpu<float>(tokens.contiguous(), codes.contiguous(),
                                     cosine);
}

}  // namespace tally::losses::internal

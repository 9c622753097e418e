#include "tally/losses/codebook/nearest_codes.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
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
#include "tally/metrics/common/constants.h"

// Compiled without contraction to fused multiply-adds (BUILD).
namespace tally::losses::internal {

at::Tensor nearest_by_device(const at::Tensor& tokens, const at::Tensor& codes,
                             bool cosine) {
  const at::NoTF32Guard no_tf32;
  const NearestBound bound(codes.scalar_type(), codes.is_cpu(), codes.size(1),
                           cosine);
  const auto lengths = [](const at::Tensor& vectors) {
    return vectors.to(at::kDouble).square().sum(-1).sqrt();
  };
  const at::Tensor of_codes = lengths(codes);
  const at::Tensor half_squares =
      of_codes.square().div(2).to(codes.scalar_type());
  const double longest = of_codes.max().item<double>();
  const std::int64_t at_once = std::max<std::int64_t>(
      1, kProductBytesAtOnce / (codes.size(0) * codes.element_size()));
  std::vector<at::Tensor> found, doubtful;
  for (const at::Tensor& piece : tokens.split(at_once)) {
    at::Tensor values = piece.matmul(codes.t());
    if (!cosine) values.sub_(half_squares);
    const auto [best, code] = values.max(1, /*keepdim=*/true);
    values.scatter_(1, code, -tally::internal::kInfinity);
    const at::Tensor size = lengths(piece);
    const at::Tensor lead =
        best.squeeze(1).to(at::kDouble).sub(values.amax(1).to(at::kDouble));
    const at::Tensor sure =
        lead.gt(bound.error(size, longest) * 2 + bound.blur(size, longest))
            .logical_and(bound.holds(size, longest));
    found.push_back(code.squeeze(1));
    doubtful.push_back(sure.logical_not());
  }
  if (found.empty()) {
    return at::empty({0}, tokens.options().dtype(at::kLong));
  }
  at::Tensor indices = at::cat(found);
  const at::Tensor rows = at::cat(doubtful).nonzero().squeeze(1);
  if (rows.numel() > 0) {
    indices.index_copy_(
        0, rows,
        nearest(tokens.index_select(0, rows).cpu(), codes.cpu(), cosine)
            .to(indices.device()));
  }
  return indices;
}

namespace {

constexpr std::int64_t kOperationsAtOnce = 1 << 16;

constexpr int kLanes = 8;
using Lanes = std::array<double, kLanes>;

double sum_of(const Lanes& lanes) {
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

/// The sum of term(k), added up in one order whatever the processor: lanes of
/// a vector, however long it is, are sums of their own.
template <class Term>
double lane_sum(std::int64_t size, const Term& term) {
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
  return lane_sum(dims, [=](std::int64_t k) {
    const double difference = static_cast<double>(token[k]) * scale -
                              static_cast<double>(code[k]) * scale;
    return difference * difference;
  });
}

template <class T>
double product(const T* a, const T* b, std::int64_t dims) {
  return lane_sum(dims, [=](std::int64_t k) {
    return static_cast<double>(a[k]) * static_cast<double>(b[k]);
  });
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
  double least = tally::internal::kInfinity;
  const auto compare = [&](double scale) {
    best = 0;
    least = tally::internal::kInfinity;
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
    if (!cosine && least == tally::internal::kInfinity) compare(0x1p-600);
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
        bound_(codes.scalar_type(), /*on_cpu=*/true, codes.size(1), cosine),
        squares_(static_cast<std::size_t>(codes_.count)),
        half_squares_(squares_.size()) {
    sum_squares(codes_.data, codes_.count, codes_.dims, squares_.data());
    double longest = 0;
    for (std::int64_t j = 0; j < codes_.count; ++j) {
      const double square = squares_[j];
      const bool finite =
          std::isfinite(square) || all_finite(codes_[j], codes_.dims);
      half_squares_[j] = static_cast<T>(!finite  ? tally::internal::kInfinity
                                        : cosine ? 0
                                                 : square / 2);
      if (finite) longest = std::max(longest, square);
      if (std::isnan(square) && first_nan_ < 0) first_nan_ = j;
    }
    longest_ = std::sqrt(longest);
  }

  /// The first code with a NaN, or -1.
  std::int64_t first_nan() const { return first_nan_; }

  /// The nearest codes, or -1 where too many come into question. Overwrites
  /// `products`, which are the tokens' with all codes.
  void settle(const Rows<T>& tokens, std::int64_t begin, std::int64_t end,
              T* products, std::int64_t* found) const {
    constexpr std::int64_t kTokensAtOnce = 64;
    std::array<double, kTokensAtOnce> sizes, margins;
    std::vector<std::int64_t> candidates;
    while (begin < end) {
      const std::int64_t some = std::min(kTokensAtOnce, end - begin);
      sum_squares(tokens[begin], some, tokens.dims, sizes.data());
      for (std::int64_t i = 0; i < some; ++i) {
        const double size = sizes[i] = std::sqrt(sizes[i]);
        margins[i] =
            bound_.holds(size, longest_)
                ? bound_.error(size, longest_) * 2 + bound_.blur(size, longest_)
                : tally::internal::kNaN;
      }
      find_leads(products, half_squares_.data(), some, codes_.count,
                 margins.data(), found);
      for (std::int64_t i = 0; i < some; ++i) {
        if (found[i] >= 0) continue;
        found[i] = choose_from(tokens[begin + i], products + i * codes_.count,
                               sizes[i], margins[i], candidates);
      }
      begin += some;
      products += some * codes_.count;
      found += some;
    }
  }

 private:
  std::int64_t choose_from(const T* token, const T* values, double size,
                           double margin,
                           std::vector<std::int64_t>& candidates) const {
    if (!std::isfinite(size) && !all_finite(token, codes_.dims)) return 0;
    if (std::isnan(margin)) return -1;
    T best = -std::numeric_limits<T>::infinity();
    for (std::int64_t j = 0; j < codes_.count; ++j) {
      if (values[j] > best) best = values[j];
    }
    candidates.clear();
    for (std::int64_t j = 0; j < codes_.count; ++j) {
      if (values[j] >= best - margin) candidates.push_back(j);
    }
    refine(values, best, size, candidates);
    if (candidates.size() > few(codes_.count)) return -1;
    return candidates.size() == 1 ? candidates[0]
                                  : choose(token, codes_, cosine_, candidates);
  }

  /// Short codes have smaller errors than the longest one.
  void refine(const T* values, T best, double size,
              std::vector<std::int64_t>& candidates) const {
    const auto error = [&](std::int64_t j) {
      return bound_.error(size, std::sqrt(squares_[j]));
    };
    const auto leader =
        std::find_if(candidates.begin(), candidates.end(),
                     [&](std::int64_t j) { return values[j] == best; });
    if (leader == candidates.end()) return;
    const double threshold =
        best - error(*leader) - bound_.blur(size, std::sqrt(squares_[*leader]));
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                    [&](std::int64_t j) {
                                      return values[j] + error(j) < threshold;
                                    }),
                     candidates.end());
  }

  Rows<T> codes_;
  bool cosine_;
  NearestBound bound_;
  std::vector<double> squares_;
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
      screen.settle(rows, first + begin, first + end, values + begin * count,
                    found + first + begin);
    });
  }
  if (std::all_of(found, found + rows.count,
                  [](std::int64_t code) { return code >= 0; })) {
    return indices;
  }
  const at::Tensor left = indices.lt(0).nonzero().squeeze(1);
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

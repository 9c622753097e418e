#include "tally/metrics/features/kernels/neighborhoods.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <cstddef>

#include "tally/metrics/common/constants.h"
#include "tally/metrics/common/plain_values.h"

namespace tally::internal::features {
namespace {

// Rows that a thread takes at a time, and others that they are compared with.
constexpr std::int64_t kRows = 64;
constexpr std::int64_t kOthers = 4096;

}  // namespace

// Bounds of the squared distances of some rows of `a` to some of `b`.
class Distances {
 public:
  Distances(const Points& a, std::int64_t row, std::int64_t rows,
            const Points& b, std::int64_t other, std::int64_t others)
      : a_(a), b_(b), row_(row), other_(other), others_(others) {
    const auto dims = static_cast<double>(a.rows_.size(1));
    // Of two products and two norms in float32, and of rounding to it.
    part_ = 8 * (dims + 8) * FLT_EPSILON;
    least_ = dims * FLT_MIN;
    products_ = a.narrow_.narrow(0, row, rows)
                    .matmul(b.narrow_.narrow(0, other, others).t())
                    .contiguous();
  }

  // Calls visit(other row, least distance, largest distance) for the others of
  // a row whose least one is not above limit(other row).
  template <class Limit, class Visit>
  void visit(std::int64_t row, const Limit& limit, const Visit& visit) const {
    const float* const from =
        products_.const_data_ptr<float>() + (row - row_) * others_;
    const double norm = a_.norms_[row];
    for (std::int64_t j = 0; j < others_; ++j) {
      const double norms = norm + b_.norms_[other_ + j];
      const double about = norms - 2 * static_cast<double>(from[j]);
      const double error = part_ * norms + least_;
      // Also of an overflow, where nothing is known.
      if (about - error > limit(other_ + j) && about < FLT_MAX) continue;
      const bool is_known = std::abs(about) < FLT_MAX;
      visit(other_ + j, is_known ? about - error : 0,
            is_known ? about + error : kInfinity);
    }
  }

 private:
  const Points& a_;
  const Points& b_;
  std::int64_t row_, other_, others_;
  double part_, least_;
  at::Tensor products_;
};

namespace {

struct Near {
  std::int64_t row;
  double least;
};

// The k-th least of what is added.
class KthLeast {
 public:
  explicit KthLeast(std::int64_t k) : k_(static_cast<std::size_t>(k)) {}
  double value() const {
    return values_.size() < k_ ? kInfinity : values_.front();
  }
  void add(double value) {
    if (values_.size() == k_) {
      if (value >= values_.front()) return;
      std::pop_heap(values_.begin(), values_.end());
      values_.pop_back();
    }
    values_.push_back(value);
    std::push_heap(values_.begin(), values_.end());
  }

 private:
  std::size_t k_;
  std::vector<double> values_;  // a heap
};

// Calls visit(begin, end) for blocks of rows, in threads.
template <class Visit>
void for_each_block(std::int64_t rows, const Visit& visit) {
  at::parallel_for(0, (rows + kRows - 1) / kRows, 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t block = begin; block < end; ++block) {
                       visit(block * kRows,
                             std::min(rows, (block + 1) * kRows));
                     }
                   });
}

// Calls visit(distances) for all others, some at a time.
template <class Visit>
void for_each_distances(const Points& a, std::int64_t begin, std::int64_t end,
                        const Points& b, const Visit& visit) {
  for (std::int64_t other = 0; other < b.size(); other += kOthers) {
    visit(Distances(a, begin, end - begin, b, other,
                    std::min(kOthers, b.size() - other)));
  }
}

std::vector<bool> plain(const std::vector<std::atomic<char>>& flags) {
  std::vector<bool> result;
  result.reserve(flags.size());
  for (const auto& flag : flags) {
    result.push_back(flag.load(std::memory_order_relaxed) != 0);
  }
  return result;
}

}  // namespace

Points::Points(const at::Tensor& rows, const at::Tensor& origin)
    : rows_(rows.contiguous()),
      narrow_(rows_.sub(origin).to(at::kFloat)),
      norms_(static_cast<std::size_t>(rows.size(0))) {
  const float* const from = narrow_.const_data_ptr<float>();
  const std::int64_t dims = rows.size(1);
  for (std::int64_t i = 0; i < size(); ++i) {
    norms_[i] = sum_terms(dims, [&](std::int64_t d) {
      const double value = from[i * dims + d];
      return value * value;
    });
  }
}

double Points::distance(const Points& a, std::int64_t i, const Points& b,
                        std::int64_t j) {
  const std::int64_t dims = a.rows_.size(1);
  const double* const x = a.rows_.const_data_ptr<double>() + i * dims;
  const double* const y = b.rows_.const_data_ptr<double>() + j * dims;
  return sum_terms(dims, [&](std::int64_t d) {
    const double difference = x[d] - y[d];
    return difference * difference;
  });
}

std::vector<double> Points::radii(std::int64_t k) const {
  std::vector<double> result(static_cast<std::size_t>(size()));
  for_each_block(size(), [&](std::int64_t begin, std::int64_t end) {
    const auto count = static_cast<std::size_t>(end - begin);
    std::vector<KthLeast> bounds(count, KthLeast(k));
    std::vector<std::vector<Near>> near(count);
    for_each_distances(*this, begin, end, *this, [&](const Distances& some) {
      for (std::int64_t i = begin; i < end; ++i) {
        KthLeast& bound = bounds[i - begin];
        some.visit(
            i, [&](std::int64_t) { return bound.value(); },
            [&](std::int64_t j, double least, double largest) {
              if (j == i) return;
              bound.add(largest);
              near[i - begin].push_back({j, least});
            });
      }
    });
    for (std::int64_t i = begin; i < end; ++i) {
      const double bound = bounds[i - begin].value();
      KthLeast radius(k);
      for (const Near& other : near[i - begin]) {
        if (other.least <= bound) {
          radius.add(distance(*this, i, *this, other.row));
        }
      }
      result[i] = radius.value();
    }
  });
  return result;
}

Neighborhoods neighborhoods(const Points& real,
                            const std::vector<double>& real_radii,
                            const Points& generated,
                            const std::vector<double>& generated_radii) {
  Neighborhoods result;
  if (!real_radii.empty()) {
    result.real_around.resize(static_cast<std::size_t>(generated.size()));
  }
  std::vector<std::atomic<char>> has_generated(real_radii.size());
  std::vector<std::atomic<char>> is_near(
      generated_radii.empty() ? 0 : static_cast<std::size_t>(real.size()));
  for_each_block(generated.size(), [&](std::int64_t begin, std::int64_t end) {
    for_each_distances(generated, begin, end, real, [&](const Distances& some) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double own = generated_radii.empty() ? -1 : generated_radii[i];
        const auto other = [&](std::int64_t j) {
          return real_radii.empty() ? -1 : real_radii[j];
        };
        some.visit(
            i, [&](std::int64_t j) { return std::max(own, other(j)); },
            [&](std::int64_t j, double least, double largest) {
              double exact = -1;
              const auto is_within = [&](double radius) {
                if (largest <= radius) return true;
                if (least > radius) return false;
                if (exact < 0) exact = Points::distance(generated, i, real, j);
                return exact <= radius;
              };
              if (is_within(other(j))) {
                ++result.real_around[i];
                has_generated[j].store(1, std::memory_order_relaxed);
              }
              if (is_within(own)) {
                is_near[j].store(1, std::memory_order_relaxed);
              }
            });
      }
    });
  });
  result.has_generated = plain(has_generated);
  result.is_near_generated = plain(is_near);
  return result;
}

}  // namespace tally::internal::features

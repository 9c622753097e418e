#include "tally/metrics/intervals/weighted_sums.h"

#include <ATen/ops/zeros.h>
#include <c10/util/bit_cast.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "tally/metrics/common/hash.h"
#include "tally/metrics/resampling/weight_kernels.h"

namespace tally::internal::intervals {
namespace {

/// The distinct rows of numbers, if there are few.
class RowKinds {
 public:
  RowKinds(const double* rows, std::int64_t count, std::int64_t width)
      : rows_(rows), width_(width), slots_(kSlots, kNone) {
    // Fewer rows of a kind are not worth a sum of their own.
    constexpr std::int64_t kRowsPerKind = 4;
    const std::int64_t most = std::min(kMostKinds, count / kRowsPerKind);
    codes_.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count && are_few_; ++i) {
      codes_.push_back(code_of(i));
      are_few_ = size() <= most;
    }
  }

  bool are_few() const { return are_few_; }
  std::int64_t size() const {
    return static_cast<std::int64_t>(firsts_.size());
  }
  const double* row(std::int64_t kind) const {
    return rows_ + firsts_[static_cast<std::size_t>(kind)] * width_;
  }
  /// The kind of each row.
  const std::vector<std::int64_t>& codes() const { return codes_; }

 private:
  static constexpr std::int64_t kMostKinds = 512;
  static constexpr std::size_t kSlots = 4 * kMostKinds;
  static constexpr std::int64_t kNone = -1;

  std::int64_t code_of(std::int64_t i) {
    const double* const own = rows_ + i * width_;
    const auto size = static_cast<std::size_t>(width_) * sizeof(double);
    std::size_t slot = hash(own) % kSlots;
    while (slots_[slot] != kNone &&
           std::memcmp(row(slots_[slot]), own, size) != 0) {
      slot = (slot + 1) % kSlots;
    }
    if (slots_[slot] == kNone) {
      slots_[slot] = this->size();
      firsts_.push_back(i);
    }
    return slots_[slot];
  }

  std::uint64_t hash(const double* own) const {
    std::uint64_t hash = 0;
    for (std::int64_t i = 0; i < width_; ++i) {
      hash = (hash ^ c10::bit_cast<std::uint64_t>(own[i])) * kGoldenRatio;
      hash ^= hash >> 32;
    }
    return hash;
  }

  const double* rows_;
  std::int64_t width_;
  std::vector<std::int64_t> slots_;   // kinds by hash
  std::vector<std::int64_t> firsts_;  // a row of each kind
  std::vector<std::int64_t> codes_;
  bool are_few_ = true;
};

/// What weighted_sums returns, in rows of the weights' stride.
class Sums {
 public:
  Sums(const ReplicateWeights& weights, const std::vector<std::int64_t>& ids,
       const double* rows, std::int64_t width)
      : weights_(weights),
        stride_(weights.stride()),
        ids_(ids),
        count_(static_cast<std::int64_t>(ids.size())),
        rows_(rows),
        width_(width),
        sums_(at::zeros({width + 1, stride_}, at::kDouble)),
        data_(sums_.mutable_data_ptr<double>()) {}

  void count(const RowKinds& kinds) {
    std::vector<std::int64_t> ends(static_cast<std::size_t>(kinds.size()) + 1);
    for (const std::int64_t code : kinds.codes()) {
      ++ends[static_cast<std::size_t>(code) + 1];
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
    std::vector<std::int64_t> sorted(ids_.size());
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const auto code = static_cast<std::size_t>(kinds.codes()[i]);
      sorted[static_cast<std::size_t>(next[code]++)] = ids_[i];
    }
    std::vector<std::uint32_t> times(static_cast<std::size_t>(stride_));
    for (std::int64_t kind = 0; kind < kinds.size(); ++kind) {
      const std::int64_t begin = ends[static_cast<std::size_t>(kind)];
      const std::int64_t end = ends[static_cast<std::size_t>(kind) + 1];
      std::fill(times.begin(), times.end(), 0);
      weights_.add(sorted.data() + begin, end - begin, times.data());
      for (std::int64_t i = 0; i < width_; ++i) {
        add_times(times, kinds.row(kind)[i], i);
      }
      add_times(times, 1, width_);
    }
  }

  void add() {
    std::vector<std::int64_t> varying;
    std::vector<std::int64_t> constant;
    for (std::int64_t i = 0; i < width_; ++i) {
      (is_constant(i) ? constant : varying).push_back(i);
    }
    std::vector<std::uint32_t> times(static_cast<std::size_t>(stride_));
    std::vector<std::uint8_t> drawn(static_cast<std::size_t>(kRows * stride_));
    for (std::int64_t first = 0; first < count_; first += kRows) {
      const std::int64_t some = std::min(kRows, count_ - first);
      weights_.fill(ids_.data() + first, some, drawn.data());
      add_weights(drawn.data(), some, stride_, times.data());
      for (const std::int64_t i : varying) {
        add_column(drawn.data(), first, some, i);
      }
    }
    for (const std::int64_t i : constant) add_times(times, rows_[i], i);
    add_times(times, 1, width_);
  }

  at::Tensor tensor() const {
    return sums_.narrow(1, 0, weights_.replicates()).contiguous();
  }

 private:
  // Rows whose weights stay in the cache next to the core.
  static constexpr std::int64_t kRows = 31;

  bool is_constant(std::int64_t column) const {
    for (std::int64_t i = 1; i < count_; ++i) {
      if (rows_[i * width_ + column] != rows_[column]) return false;
    }
    return rows_[column] == rows_[column];
  }

  void add_times(const std::vector<std::uint32_t>& times, double factor,
                 std::int64_t column) {
    if (factor == 0) return;
    double* const own = data_ + column * stride_;
    for (std::int64_t r = 0; r < stride_; ++r) {
      const std::uint32_t time = times[static_cast<std::size_t>(r)];
      if (time != 0) own[r] += factor * time;
    }
  }

  // Of rows from `first` on, given their weights.
  void add_column(const std::uint8_t* drawn, std::int64_t first,
                  std::int64_t some, std::int64_t column) {
    const double* const factors = rows_ + first * width_ + column;
    double* const own = data_ + column * stride_;
    std::int64_t used = 0;
    bool all_finite = true;
    for (std::int64_t i = 0; i < some; ++i) {
      used += factors[i * width_] != 0;
      all_finite &= std::isfinite(factors[i * width_]);
    }
    if (all_finite && 2 * used > some) {
      add_products(drawn, some, stride_, factors, width_, own);
      return;
    }
    for (std::int64_t i = 0; i < some && used > 0; ++i) {
      const double factor = factors[i * width_];
      const std::uint8_t* const row = drawn + i * stride_;
      if (factor == 0) continue;
      if (std::isfinite(factor)) {
        add_products(row, 1, stride_, &factor, 1, own);
        continue;
      }
      for (std::int64_t r = 0; r < stride_; ++r) {
        if (row[r] != 0) own[r] += factor * row[r];
      }
    }
  }

  const ReplicateWeights& weights_;
  std::int64_t stride_;
  const std::vector<std::int64_t>& ids_;
  std::int64_t count_;
  const double* rows_;
  std::int64_t width_;
  at::Tensor sums_;  // [width + 1, stride]
  double* data_;
};

}  // namespace

at::Tensor weighted_sums(const ReplicateWeights& weights,
                         const std::vector<std::int64_t>& ids,
                         const double* rows, std::int64_t width) {
  Sums sums(weights, ids, rows, width);
  const RowKinds kinds(rows, static_cast<std::int64_t>(ids.size()), width);
  if (kinds.are_few()) {
    sums.count(kinds);
  } else {
    sums.add();
  }
  return sums.tensor();
}

}  // namespace tally::internal::intervals

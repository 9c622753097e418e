#include "tally/losses/contrastive/softmax_ring.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tally/losses/common/tile_kernels.h"
#include "tally/losses/common/tiles.h"
#include "tally/losses/contrastive/sum_round.h"

namespace tally::losses::internal {
namespace {

template <class T>
constexpr T kLowest = -std::numeric_limits<T>::infinity();

/// Merges two maxima with their sums of exp(scale * (q - max)) into the first.
void merge(double scale, double& max, double& sum, double other_max,
           double other_sum) {
  if (max < other_max) {
    if (sum != 0) sum *= std::exp(scale * (max - other_max));
    max = other_max;
  } else if (other_sum != 0) {
    other_sum *= std::exp(scale * (other_max - max));
  }
  sum += other_sum;
}

/// The rows whose products are multiplied by the scale's absolute value.
at::Tensor signed_rows(const SoftmaxProblem& problem) {
  return problem.scale < 0 ? problem.a.neg() : problem.a;
}

/// The tile's column with which its first row is a pair: see Tile.
std::int64_t first_pair(const Block& block, std::int64_t first_row,
                        std::int64_t first_column) {
  return block.step == 0 ? first_row - first_column : kNoColumn;
}

template <class T>
class SoftmaxForward {
 public:
  explicit SoftmaxForward(const SoftmaxProblem& problem)
      : problem_(problem),
        options_(problem.a.options()),
        count_(problem.a.size(0)),
        threads_(at::get_num_threads()),
        tiles_(options_),
        rows_(signed_rows(problem)),
        row_max_(padded_array(count_, kLowest<T>, options_)),
        row_sum_(count_, 0),
        pairs_(count_, 0),
        stride_(std::min(problem.rows.most(), kTileColumns) + kPadding),
        panel_max_(threads_ * stride_),
        panel_sum_(threads_ * stride_) {
    const auto products = problem.rows.total() * count_;
    keep_ =
        products * static_cast<std::int64_t>(sizeof(T)) <= problem.budget_bytes;
  }

  SoftmaxState run() {
    Ring ring(problem_.call);
    const std::int64_t most = problem_.rows.most();
    CirculatingTensor columns(ring, padded(problem_.b, most));
    // Maxima and sums of the columns that are here.
    at::Tensor statistics = at::empty({2, most}, options_.dtype(at::kDouble));
    auto* const numbers = statistics.mutable_data_ptr<double>();
    std::fill_n(numbers, most, kLowest<double>);
    std::fill_n(numbers + most, most, 0.0);
    at::Tensor arriving;
    for (int step = 0; step < ring.steps(); ++step) {
      columns.depart(step);
      const int owner = ring.owner(step);
      visit({step, owner, problem_.rows.of(owner)}, columns.here(), statistics);
      if (ring.steps() > 1) {
        if (!arriving.defined()) arriving = at::empty_like(statistics);
        ring.pass(statistics, arriving);
        ring.wait();
        std::swap(statistics, arriving);
      }
      columns.arrive();
    }
    finish(statistics);
    return std::move(state_);
  }

 private:
  void visit(const Block& block, const at::Tensor& columns,
             const at::Tensor& statistics) {
    if (count_ == 0) return;
    double* const max = statistics.mutable_data_ptr<double>();
    double* const sum = max + statistics.size(1);
    for_each_range(
        block.rows, kTileColumns, [&](std::int64_t first, std::int64_t width) {
          std::fill(panel_max_.begin(), panel_max_.end(), kLowest<T>);
          std::fill(panel_sum_.begin(), panel_sum_.end(), 0.0);
          panel(block, rows_of(columns, first, width), first);
          merge_panel(max + first, sum + first, width);
        });
  }

  void panel(const Block& block, const at::Tensor& columns,
             std::int64_t first_column) {
    const std::int64_t width = columns.size(0);
    at::Tensor kept;
    if (keep_) {
      kept = at::empty({count_, width}, options_);
      state_.products.push_back(kept);
    }
    for_each_range(
        count_, kTileRows, [&](std::int64_t first, std::int64_t rows) {
          at::Tensor tile;
          if (keep_) {
            tile = rows_of(kept, first, rows);
            product_into(tile, rows_of(rows_, first, rows), columns);
          } else {
            tile = tiles_.product(rows_of(rows_, first, rows), columns);
          }
          const T* const q = tile.const_data_ptr<T>();
          const std::int64_t pair = first_pair(block, first, first_column);
          save_pairs(q, first, rows, pair, width);
          statistics_of(q, first, rows, pair, width);
        });
  }

  void statistics_of(const T* q, std::int64_t first, std::int64_t rows,
                     std::int64_t pair, std::int64_t width) {
    T* const row_max = row_max_.mutable_data_ptr<T>() + first;
    double* const row_sum = row_sum_.data() + first;
    for_each_stripe(
        rows, [&](std::int64_t begin, std::int64_t size, int thread) {
          const Tile<const T> tile{q + begin * width, size, width,
                                   static_cast<T>(std::abs(problem_.scale)),
                                   pair + begin};
          add_to_statistics(tile, row_max + begin, row_sum + begin,
                            panel_max_.data() + thread * stride_,
                            panel_sum_.data() + thread * stride_);
        });
  }

  void save_pairs(const T* q, std::int64_t first, std::int64_t rows,
                  std::int64_t pair, std::int64_t width) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t column = pair + i;
      if (column < 0 || column >= width) continue;
      pairs_[first + i] = q[i * width + column];
    }
  }

  void merge_panel(double* max, double* sum, std::int64_t width) const {
    for (std::int64_t start = 0; start < threads_ * stride_; start += stride_) {
      for (std::int64_t j = 0; j < width; ++j) {
        merge(std::abs(problem_.scale), max[j], sum[j], panel_max_[start + j],
              panel_sum_[start + j]);
      }
    }
  }

  void finish(const at::Tensor& statistics) {
    const double* const column_max = statistics.const_data_ptr<double>();
    const double* const column_sum = column_max + statistics.size(1);
    state_.columns.max = padded_array(count_, 0, options_);
    state_.rows.max = row_max_;
    for (SoftmaxSide* const side : {&state_.rows, &state_.columns}) {
      side->wrong.reserve(count_);
      side->factor.reserve(count_);
    }
    const T* const row_max = row_max_.const_data_ptr<T>();
    T* const narrow = state_.columns.max.mutable_data_ptr<T>();
    for (std::int64_t i = 0; i < count_; ++i) {
      narrow[i] = static_cast<T>(column_max[i]);
      add(state_.rows, row_max[i], row_sum_[i], pairs_[i]);
      add(state_.columns, column_max[i], column_sum[i], pairs_[i]);
    }
  }

  /// The terms of one row or column.
  void add(SoftmaxSide& side, double max, double sum, double pair) {
    if (sum == 0) {                // there are no others
      state_.loss += pair - pair;  // 0, or NaN
      side.wrong.push_back(0);
      side.factor.push_back(0);
      return;
    }
    // An infinite product of the pair is none to compare with: NaN.
    const double gap = pair - pair + max - pair;
    const double d = std::abs(problem_.scale) * gap + std::log(sum);
    const double e = std::exp(-std::abs(d));
    const double wrong = (d < 0 ? e : 1) / (1 + e);
    state_.loss += (d < 0 ? 0 : d) + std::log1p(e);
    state_.slope += gap * wrong;
    side.wrong.push_back(wrong);
    side.factor.push_back(wrong / sum);
  }

  const SoftmaxProblem& problem_;
  at::TensorOptions options_;
  std::int64_t count_;
  std::int64_t threads_;
  TileBuffer tiles_;
  bool keep_;
  at::Tensor rows_;
  at::Tensor row_max_;
  std::vector<double> row_sum_, pairs_;
  // Of each thread.
  std::int64_t stride_;
  std::vector<T> panel_max_;
  std::vector<double> panel_sum_;
  SoftmaxState state_;
};

template <class T>
class SoftmaxBackward {
 public:
  SoftmaxBackward(const SoftmaxProblem& problem, SoftmaxState& state,
                  const std::vector<double>& weights)
      : problem_(problem),
        state_(state),
        weights_(weights),
        products_(std::move(state.products)),
        count_(problem.a.size(0)),
        tiles_(problem.a.options()),
        rows_(signed_rows(problem)),
        row_factor_(factors(state.rows, count_)) {
    state.products.clear();
    gradients_.a = at::zeros_like(problem.a);
    gradients_.scale = own_weight() * state.slope;
  }

  SoftmaxGradients run() {
    Ring ring(problem_.call);
    CirculatingTensor terms(ring, column_terms());
    CirculatingTensor columns(ring, padded(problem_.b, problem_.rows.most()));
    gradients_.b = sum_round(
        ring, problem_.rows, problem_.b, {&terms, &columns},
        [&](const Block& block, const RowRange& range,
            const at::Tensor& gradient) {
          if (count_ == 0) return;
          panel(block, rows_of(columns.here(), range.first, range.size),
                gradient, terms.here(), range.first);
        });
    gradients_.a.mul_(problem_.scale);
    gradients_.b.mul_(problem_.scale);
    if (problem_.scale < 0) gradients_.scale = -gradients_.scale;
    return std::move(gradients_);
  }

 private:
  double own_weight() const { return weights_[problem_.call.rank()]; }

  /// Padded; of a logit's gradient.
  at::Tensor factors(const SoftmaxSide& side, std::int64_t size) const {
    const at::Tensor result = padded_array(size, 0, problem_.a.options());
    T* const factors = result.mutable_data_ptr<T>();
    for (std::int64_t i = 0; i < count_; ++i) {
      factors[i] = static_cast<T>(own_weight() * side.factor[i]);
    }
    return result;
  }

  /// What comes with this rank's columns: their maxima, then their factors.
  at::Tensor column_terms() const {
    const std::int64_t most = problem_.rows.most();
    const at::Tensor result =
        at::zeros({2, most + kPadding}, problem_.a.options());
    T* const numbers = result.mutable_data_ptr<T>();
    std::copy_n(state_.columns.max.const_data_ptr<T>(), count_, numbers);
    const at::Tensor of_columns = factors(state_.columns, most);
    std::copy_n(of_columns.const_data_ptr<T>(), count_,
                numbers + result.size(1));
    return result;
  }

  void panel(const Block& block, const at::Tensor& columns,
             const at::Tensor& gradient, const at::Tensor& terms,
             std::int64_t first_column) {
    at::Tensor kept;
    if (!products_.empty()) kept = std::move(products_[next_product_++]);
    // What was kept need not be computed in tiles that fit in a cache.
    const std::int64_t height = kept.defined() ? count_ : kTileRows;
    for_each_range(count_, height, [&](std::int64_t first, std::int64_t rows) {
      const at::Tensor tile =
          kept.defined() ? kept
                         : tiles_.product(rows_of(rows_, first, rows), columns);
      gradient_of(block, tile, terms, first, first_column);
      add_product(rows_of(gradients_.a, first, rows), tile, columns);
      add_product(gradient, tile.t(), rows_of(problem_.a, first, rows));
    });
  }

  void gradient_of(const Block& block, const at::Tensor& tile,
                   const at::Tensor& terms, std::int64_t first,
                   std::int64_t first_column) {
    const std::int64_t width = tile.size(1);
    T* const q = tile.mutable_data_ptr<T>();
    const T* const row_max = state_.rows.max.const_data_ptr<T>() + first;
    const T* const row_factor = row_factor_.const_data_ptr<T>() + first;
    const T* const column_max = terms.const_data_ptr<T>() + first_column;
    const SoftmaxTerms<T> columns{column_max, column_max + terms.size(1)};
    const std::int64_t pair = first_pair(block, first, first_column);
    std::vector<double> sums(at::get_num_threads(), 0);
    for_each_stripe(
        tile.size(0), [&](std::int64_t begin, std::int64_t size, int thread) {
          const Tile<T> stripe{q + begin * width, size, width,
                               static_cast<T>(std::abs(problem_.scale)),
                               pair + begin};
          sums[thread] += softmax_gradient(
              stripe, {row_max + begin, row_factor + begin}, columns);
        });
    for (const double sum : sums) gradients_.scale += sum;
    for (std::int64_t i = 0; i < tile.size(0); ++i) {
      const std::int64_t column = pair + i;
      if (column < 0 || column >= width) continue;
      q[i * width + column] =
          static_cast<T>(-own_weight() * (state_.rows.wrong[first + i] +
                                          state_.columns.wrong[first + i]));
    }
  }

  const SoftmaxProblem& problem_;
  SoftmaxState& state_;
  const std::vector<double>& weights_;
  std::vector<at::Tensor> products_;
  std::size_t next_product_ = 0;
  std::int64_t count_;
  TileBuffer tiles_;
  at::Tensor rows_;
  at::Tensor row_factor_;
  SoftmaxGradients gradients_;
};

}  // namespace

SoftmaxState softmax_forward(const SoftmaxProblem& problem) {
  if (problem.a.scalar_type() == at::kDouble) {
    return SoftmaxForward<double>(problem).run();
  }
  return SoftmaxForward<float>(problem).run();
}

SoftmaxGradients softmax_backward(const SoftmaxProblem& problem,
                                  SoftmaxState& state,
                                  const std::vector<double>& weights) {
  if (problem.a.scalar_type() == at::kDouble) {
    return SoftmaxBackward<double>(problem, state, weights).run();
  }
  return SoftmaxBackward<float>(problem, state, weights).run();
}

}  // namespace tally::losses::internal

#include "tally/losses/contrastive/softmax_ring.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <limits>

#include "tally/losses/contrastive/sum_round.h"
#include "tally/losses/contrastive/tile_kernels.h"
#include "tally/losses/contrastive/tiles.h"

namespace tally::losses::internal {
namespace {

template <class T>
constexpr T kNone = -std::numeric_limits<T>::infinity();

/// Merges two maxima with their sums into the first.
template <class T>
void merge(T& max, T& sum, T other_max, T other_sum) {
  if (other_max == kNone<T>) {
    sum += other_sum;  // 0, or a NaN
  } else if (max < other_max) {
    sum = (max == kNone<T> ? sum : sum * std::exp(max - other_max)) + other_sum;
    max = other_max;
  } else {
    sum += other_sum * std::exp(other_max - max);
  }
}

template <class T>
T log_sum(T max, T sum) {
  return max == kNone<T> ? max + sum : max + std::log(sum);
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
        row_max_(padded_array(count_, kNone<T>, options_)),
        row_sum_(padded_array(count_, 0, options_)),
        panel_max_(at::empty({threads_, kTileColumns + kPadding}, options_)),
        panel_sum_(at::empty_like(panel_max_)) {
    state_.pairs = padded_array(count_, 0, options_);
    const auto products = problem.rows.total() * count_;
    keep_ =
        products * static_cast<std::int64_t>(sizeof(T)) <= problem.budget_bytes;
  }

  SoftmaxState run() {
    Ring ring(problem_.call);
    const std::int64_t most = problem_.rows.most();
    Visitor columns(ring, padded(problem_.b, most));
    // Maxima and sums of the columns that are here.
    at::Tensor statistics = at::empty({2, most + kPadding}, options_);
    statistics[0].fill_(kNone<T>);
    statistics[1].zero_();
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
    T* const max = statistics.mutable_data_ptr<T>();
    T* const sum = max + statistics.size(1);
    for_each_part(block.rows, kTileColumns,
                  [&](std::int64_t first, std::int64_t width) {
                    panel_max_.fill_(kNone<T>);
                    panel_sum_.zero_();
                    panel(block, columns.narrow(0, first, width), first);
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
    for_each_part(
        count_, kTileRows, [&](std::int64_t first, std::int64_t rows) {
          at::Tensor tile;
          if (keep_) {
            tile = kept.narrow(0, first, rows);
            product_into(tile, problem_.a.narrow(0, first, rows), columns);
          } else {
            tile = tiles_.product(problem_.a.narrow(0, first, rows), columns);
          }
          const T* const q = tile.const_data_ptr<T>();
          if (block.step == 0) save_pairs(q, first, rows, first_column, width);
          statistics_of(q, first, rows, width);
        });
  }

  void statistics_of(const T* q, std::int64_t first, std::int64_t rows,
                     std::int64_t width) {
    T* const row_max = row_max_.mutable_data_ptr<T>() + first;
    T* const row_sum = row_sum_.mutable_data_ptr<T>() + first;
    T* const panel_max = panel_max_.mutable_data_ptr<T>();
    T* const panel_sum = panel_sum_.mutable_data_ptr<T>();
    const std::int64_t stride = panel_max_.size(1);
    for_each_stripe(rows,
                    [&](std::int64_t begin, std::int64_t size, int thread) {
                      const Tile<const T> tile{q + begin * width, size, width,
                                               static_cast<T>(problem_.scale)};
                      add_to_statistics(tile, row_max + begin, row_sum + begin,
                                        panel_max + thread * stride,
                                        panel_sum + thread * stride);
                    });
  }

  void save_pairs(const T* q, std::int64_t first, std::int64_t rows,
                  std::int64_t first_column, std::int64_t width) {
    T* const pairs = state_.pairs.mutable_data_ptr<T>();
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t column = first + i - first_column;
      if (column >= 0 && column < width) {
        pairs[first + i] = q[i * width + column];
      }
    }
  }

  void merge_panel(T* max, T* sum, std::int64_t width) const {
    const T* const panel_max = panel_max_.const_data_ptr<T>();
    const T* const panel_sum = panel_sum_.const_data_ptr<T>();
    for (std::int64_t t = 0; t < threads_; ++t) {
      const std::int64_t start = t * panel_max_.size(1);
      for (std::int64_t j = 0; j < width; ++j) {
        merge(max[j], sum[j], panel_max[start + j], panel_sum[start + j]);
      }
    }
  }

  void finish(const at::Tensor& statistics) {
    state_.row_lse = row_max_;  // in place
    state_.column_lse = padded_array(problem_.rows.most(), 0, options_);
    const T* const column_max = statistics.const_data_ptr<T>();
    const T* const column_sum = column_max + statistics.size(1);
    T* const row_lse = row_max_.mutable_data_ptr<T>();
    const T* const row_sum = row_sum_.const_data_ptr<T>();
    T* const column_lse = state_.column_lse.mutable_data_ptr<T>();
    const T* const pairs = state_.pairs.const_data_ptr<T>();
    for (std::int64_t i = 0; i < count_; ++i) {
      row_lse[i] = log_sum(row_lse[i], row_sum[i]);
      column_lse[i] = log_sum(column_max[i], column_sum[i]);
      state_.loss += static_cast<double>(row_lse[i]) + column_lse[i] -
                     2 * problem_.scale * pairs[i];
    }
  }

  const SoftmaxProblem& problem_;
  at::TensorOptions options_;
  std::int64_t count_;
  std::int64_t threads_;
  TileBuffer tiles_;
  bool keep_;
  at::Tensor row_max_, row_sum_;
  at::Tensor panel_max_, panel_sum_;  // of each thread
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
        tiles_(problem.a.options()) {
    state.products.clear();
    gradients_.a = at::zeros_like(problem.a);
    gradients_.scale = 0;
  }

  SoftmaxGradients run() {
    Ring ring(problem_.call);
    Visitor lse(ring, state_.column_lse);
    Visitor columns(ring, padded(problem_.b, problem_.rows.most()));
    gradients_.b = sum_round(
        ring, problem_.rows, problem_.b, {&lse, &columns},
        [&](const Block& block, const Part& part, const at::Tensor& gradient) {
          if (count_ == 0) return;
          panel(block, columns.here().narrow(0, part.first, part.size),
                gradient, lse.here(), part.first);
        });
    gradients_.a.mul_(problem_.scale);
    gradients_.b.mul_(problem_.scale);
    return std::move(gradients_);
  }

 private:
  void panel(const Block& block, const at::Tensor& columns,
             const at::Tensor& gradient, const at::Tensor& lse,
             std::int64_t first_column) {
    at::Tensor kept;
    if (!products_.empty()) kept = std::move(products_[next_product_++]);
    // What was kept need not be computed in tiles that fit in a cache.
    const std::int64_t height = kept.defined() ? count_ : kTileRows;
    for_each_part(count_, height, [&](std::int64_t first, std::int64_t rows) {
      const at::Tensor a = problem_.a.narrow(0, first, rows);
      const at::Tensor tile =
          kept.defined() ? kept : tiles_.product(a, columns);
      gradient_of(block, tile, lse, first, first_column);
      add_product(gradients_.a.narrow(0, first, rows), tile, columns);
      add_product(gradient, tile.t(), a);
    });
  }

  void gradient_of(const Block& block, const at::Tensor& tile,
                   const at::Tensor& lse, std::int64_t first,
                   std::int64_t first_column) {
    const std::int64_t width = tile.size(1);
    T* const q = tile.mutable_data_ptr<T>();
    const T* const row_lse = state_.row_lse.const_data_ptr<T>() + first;
    const T* const column_lse = lse.const_data_ptr<T>() + first_column;
    const double row_weight = weights_[problem_.call.rank()];
    const double column_weight = weights_[block.owner];
    std::vector<double> sums(at::get_num_threads(), 0);
    for_each_stripe(tile.size(0),
                    [&](std::int64_t begin, std::int64_t size, int thread) {
                      const Tile<T> stripe{q + begin * width, size, width,
                                           static_cast<T>(problem_.scale)};
                      sums[thread] += softmax_gradient(
                          stripe, row_lse + begin, static_cast<T>(row_weight),
                          column_lse, static_cast<T>(column_weight));
                    });
    for (const double sum : sums) gradients_.scale += sum;
    if (block.step > 0) return;
    const T* const pairs = state_.pairs.const_data_ptr<T>();
    for (std::int64_t i = 0; i < tile.size(0); ++i) {
      const std::int64_t column = first + i - first_column;
      if (column < 0 || column >= width) continue;
      q[i * width + column] -= static_cast<T>(2 * row_weight);
      gradients_.scale -= 2 * row_weight * pairs[first + i];
    }
  }

  const SoftmaxProblem& problem_;
  SoftmaxState& state_;
  const std::vector<double>& weights_;
  std::vector<at::Tensor> products_;
  std::size_t next_product_ = 0;
  std::int64_t count_;
  TileBuffer tiles_;
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

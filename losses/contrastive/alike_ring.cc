#include "tally/losses/contrastive/alike_ring.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tally/losses/contrastive/tile_kernels.h"
#include "tally/losses/contrastive/tiles.h"

namespace tally::losses::internal {
namespace {

template <class T>
constexpr T kNone = -std::numeric_limits<T>::infinity();

/// This rank's labels as small numbers.
class LabelIds {
 public:
  explicit LabelIds(const at::Tensor& labels) {
    const auto* const begin = labels.const_data_ptr<std::int64_t>();
    const auto* const end = begin + labels.numel();
    sorted_.assign(begin, end);
    std::sort(sorted_.begin(), sorted_.end());
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
  }

  std::int32_t kinds() const {
    return static_cast<std::int32_t>(sorted_.size());
  }
  /// -1 for labels that this rank has none of.
  std::vector<std::int32_t> of(const std::int64_t* labels,
                               std::int64_t count) const {
    std::vector<std::int32_t> ids(count + kPadding, -1);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto found =
          std::lower_bound(sorted_.begin(), sorted_.end(), labels[i]);
      if (found != sorted_.end() && *found == labels[i]) {
        ids[i] = static_cast<std::int32_t>(found - sorted_.begin());
      }
    }
    return ids;
  }

 private:
  std::vector<std::int64_t> sorted_;
};

/// What forward and backward have in common: the way through the products.
template <class T>
class AlikeRound {
 public:
  explicit AlikeRound(const AlikeProblem& problem)
      : problem_(problem),
        count_(problem.z.size(0)),
        labels_(problem.labels),
        row_ids_(
            labels_.of(problem.labels.const_data_ptr<std::int64_t>(), count_)),
        tiles_(problem.z.options()) {}

 protected:
  /// Calls arrive(block, extras) and panel(block, columns, first_column) for
  /// parts of each rank's rows, with which `extras` come.
  template <class Arrive, class Panel>
  void go_round(const at::Tensor& extras, const Arrive& arrive,
                const Panel& panel) {
    Ring ring(problem_.call);
    const std::int64_t most = problem_.rows.most();
    Visitor extra(ring, padded(extras, most));
    Visitor columns(ring, padded(problem_.z, most));
    for (int step = 0; step < ring.steps(); ++step) {
      extra.depart(step);
      columns.depart(step);
      const int owner = ring.owner(step);
      const Block block{step, owner, problem_.rows.of(owner)};
      arrive(block, extra.here());
      for_each_part(count_ == 0 ? 0 : block.rows, kTileColumns,
                    [&](std::int64_t first, std::int64_t size) {
                      panel(block, columns.here().narrow(0, first, size),
                            first);
                    });
      extra.arrive();
      columns.arrive();
    }
  }

  void take_labels(const at::Tensor& labels, std::int64_t rows) {
    column_ids_ = labels_.of(labels.const_data_ptr<std::int64_t>(), rows);
  }

  Ids ids(const Block& block, std::int64_t row, std::int64_t column) const {
    return {row_ids_.data() + row, column_ids_.data() + column,
            block.step == 0 ? row - column
                            : std::numeric_limits<std::int64_t>::min() / 2};
  }

  Tile<T> stripe(const at::Tensor& tile, std::int64_t begin,
                 std::int64_t size) const {
    const std::int64_t width = tile.size(1);
    return {tile.mutable_data_ptr<T>() + begin * width, size, width,
            static_cast<T>(problem_.scale)};
  }

  const AlikeProblem& problem_;
  std::int64_t count_;
  LabelIds labels_;
  std::vector<std::int32_t> row_ids_, column_ids_;
  TileBuffer tiles_;
};

template <class T>
class AlikeForward : private AlikeRound<T> {
 public:
  explicit AlikeForward(const AlikeProblem& problem)
      : AlikeRound<T>(problem),
        row_max_(padded_array(count_, kNone<T>, problem.z.options())),
        row_sum_(padded_array(count_, 0, problem.z.options())),
        row_alike_(padded_array(count_, 0, problem.z.options())),
        alike_of_kind_(labels_.kinds(), 0),
        keep_(problem.rows.total() * count_ *
                  static_cast<std::int64_t>(sizeof(T)) <=
              problem.budget_bytes) {}

  AlikeState run() {
    this->go_round(
        problem_.labels,
        [&](const Block& block, const at::Tensor& labels) {
          this->take_labels(labels, block.rows);
          for (std::int64_t j = 0; j < block.rows; ++j) {
            if (column_ids_[j] >= 0) ++alike_of_kind_[column_ids_[j]];
          }
        },
        [&](const Block& block, const at::Tensor& columns, std::int64_t first) {
          panel(block, columns, first);
        });
    finish();
    return std::move(state_);
  }

 private:
  using AlikeRound<T>::problem_;
  using AlikeRound<T>::count_;
  using AlikeRound<T>::labels_;
  using AlikeRound<T>::row_ids_;
  using AlikeRound<T>::column_ids_;
  using AlikeRound<T>::tiles_;

  void panel(const Block& block, const at::Tensor& columns,
             std::int64_t first_column) {
    at::Tensor kept;
    if (keep_) {
      kept = at::empty({count_, columns.size(0)}, problem_.z.options());
      state_.products.push_back(kept);
    }
    T* const row_max = row_max_.mutable_data_ptr<T>();
    T* const row_sum = row_sum_.mutable_data_ptr<T>();
    T* const row_alike = row_alike_.mutable_data_ptr<T>();
    for_each_part(
        count_, kTileRows, [&](std::int64_t first, std::int64_t rows) {
          const at::Tensor z = problem_.z.narrow(0, first, rows);
          at::Tensor tile;
          if (keep_) {
            tile = kept.narrow(0, first, rows);
            product_into(tile, z, columns);
          } else {
            tile = tiles_.product(z, columns);
          }
          for_each_stripe(rows, [&](std::int64_t begin, std::int64_t size,
                                    int /*thread*/) {
            const std::int64_t row = first + begin;
            add_to_statistics(this->stripe(tile, begin, size),
                              this->ids(block, row, first_column),
                              row_max + row, row_sum + row, row_alike + row);
          });
        });
  }

  void finish() {
    state_.row_lse = row_max_;  // in place
    T* const row_lse = row_max_.mutable_data_ptr<T>();
    const T* const row_sum = row_sum_.const_data_ptr<T>();
    const T* const row_alike = row_alike_.const_data_ptr<T>();
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t alike = alike_of_kind_[row_ids_[i]] - 1;
      state_.alike.push_back(alike);
      row_lse[i] = row_lse[i] == kNone<T> ? row_lse[i] + row_sum[i]
                                          : row_lse[i] + std::log(row_sum[i]);
      if (alike == 0) continue;
      ++state_.rows;
      state_.loss += row_lse[i] - row_alike[i] / static_cast<double>(alike);
    }
  }

  at::Tensor row_max_, row_sum_, row_alike_;
  std::vector<std::int64_t> alike_of_kind_;
  bool keep_;
  AlikeState state_;
};

template <class T>
class AlikeBackward : private AlikeRound<T> {
 public:
  AlikeBackward(const AlikeProblem& problem, AlikeState& state, double weight)
      : AlikeRound<T>(problem),
        state_(state),
        weight_(weight),
        products_(std::move(state.products)),
        own_(terms_of(state)),
        gradient_(at::zeros_like(problem.z)) {
    state.products.clear();
  }

  at::Tensor run() {
    // A label, log-sum-exp and weights for each row.
    const at::Tensor extras = at::zeros({count_, 3}, at::kDouble);
    double* const numbers = extras.mutable_data_ptr<double>();
    const T* const lse = state_.row_lse.const_data_ptr<T>();
    for (std::int64_t i = 0; i < count_; ++i) {
      numbers[3 * i] = lse[i];
      numbers[3 * i + 1] = own_.weight[i];
      numbers[3 * i + 2] = own_.alike[i];
    }
    const at::Tensor labels = problem_.labels.view({count_, 1});
    const at::Tensor packed = at::empty({count_, 4}, at::kLong);
    packed.narrow(1, 0, 1).copy_(labels);
    packed.narrow(1, 1, 3).copy_(extras.view(at::kLong));
    this->go_round(
        packed,
        [&](const Block& block, const at::Tensor& arriving) {
          unpack(arriving, block.rows);
        },
        [&](const Block& block, const at::Tensor& columns, std::int64_t first) {
          panel(block, columns, first);
        });
    return gradient_.mul_(problem_.scale);
  }

 private:
  using AlikeRound<T>::problem_;
  using AlikeRound<T>::count_;
  using AlikeRound<T>::tiles_;

  /// By row: what its loss counts, and each logit of one alike.
  struct Terms {
    std::vector<T> lse, weight, alike;
  };

  Terms terms_of(const AlikeState& state) const {
    Terms terms;
    for (const std::int64_t alike : state.alike) {
      terms.weight.push_back(alike == 0 ? 0 : static_cast<T>(weight_));
      terms.alike.push_back(alike == 0 ? 0 : static_cast<T>(weight_ / alike));
    }
    return terms;
  }

  void unpack(const at::Tensor& packed, std::int64_t rows) {
    const at::Tensor labels = packed.select(1, 0).contiguous();
    this->take_labels(labels, rows);
    const at::Tensor rest = packed.narrow(1, 1, 3).contiguous();
    const at::Tensor numbers = rest.view(at::kDouble);
    const double* const from = numbers.const_data_ptr<double>();
    for (auto* part : {&columns_.lse, &columns_.weight, &columns_.alike}) {
      part->assign(rows + kPadding, 0);
    }
    for (std::int64_t j = 0; j < rows; ++j) {
      columns_.lse[j] = static_cast<T>(from[3 * j]);
      columns_.weight[j] = static_cast<T>(from[3 * j + 1]);
      columns_.alike[j] = static_cast<T>(from[3 * j + 2]);
    }
  }

  void panel(const Block& block, const at::Tensor& columns,
             std::int64_t first_column) {
    at::Tensor kept;
    if (!products_.empty()) kept = std::move(products_[next_product_++]);
    const T* const lse = state_.row_lse.const_data_ptr<T>();
    for_each_part(
        count_, kept.defined() ? count_ : kTileRows,
        [&](std::int64_t first, std::int64_t rows) {
          const at::Tensor tile =
              kept.defined()
                  ? kept
                  : tiles_.product(problem_.z.narrow(0, first, rows), columns);
          for_each_stripe(rows, [&](std::int64_t begin, std::int64_t size,
                                    int /*thread*/) {
            const std::int64_t row = first + begin;
            softmax_gradient(this->stripe(tile, begin, size),
                             this->ids(block, row, first_column), lse + row,
                             own_.weight.data() + row, own_.alike.data() + row,
                             columns_.lse.data() + first_column,
                             columns_.weight.data() + first_column,
                             columns_.alike.data() + first_column);
          });
          add_product(gradient_.narrow(0, first, rows), tile, columns);
        });
  }

  AlikeState& state_;
  double weight_;
  std::vector<at::Tensor> products_;
  std::size_t next_product_ = 0;
  Terms own_, columns_;
  at::Tensor gradient_;
};

}  // namespace

AlikeState alike_forward(const AlikeProblem& problem) {
  if (problem.z.scalar_type() == at::kDouble) {
    return AlikeForward<double>(problem).run();
  }
  return AlikeForward<float>(problem).run();
}

at::Tensor alike_backward(const AlikeProblem& problem, AlikeState& state,
                          double weight) {
  if (problem.z.scalar_type() == at::kDouble) {
    return AlikeBackward<double>(problem, state, weight).run();
  }
  return AlikeBackward<float>(problem, state, weight).run();
}

}  // namespace tally::losses::internal

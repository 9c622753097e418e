#include "tally/losses/contrastive/same_label_ring.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tally/losses/common/tile_kernels.h"
#include "tally/losses/common/tiles.h"
#include "tally/losses/contrastive/sum_round.h"

namespace tally::losses::internal {
namespace {

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
class SameLabelRound {
 public:
  explicit SameLabelRound(const SameLabelProblem& problem)
      : problem_(problem),
        count_(problem.z.size(0)),
        labels_(problem.labels),
        row_ids_(
            labels_.of(problem.labels.const_data_ptr<std::int64_t>(), count_)),
        rows_(problem.scale < 0 ? problem.z.neg() : problem.z),
        tiles_(problem.z.options()) {}

 protected:
  /// Calls arrive(block, extras) and panel(block, columns, first_column) for
  /// parts of each rank's rows, with which `extras` come.
  template <class Arrive, class Panel>
  void go_round(const at::Tensor& extras, const Arrive& arrive,
                const Panel& panel) {
    Ring ring(problem_.call);
    const std::int64_t most = problem_.rows.most();
    CirculatingTensor extra(ring, padded(extras, most));
    CirculatingTensor columns(ring, padded(problem_.z, most));
    for (int step = 0; step < ring.steps(); ++step) {
      extra.depart(step);
      columns.depart(step);
      const int owner = ring.owner(step);
      const Block block{step, owner, problem_.rows.of(owner)};
      arrive(block, extra.here());
      for_each_range(count_ == 0 ? 0 : block.rows, kTileColumns,
                     [&](std::int64_t first, std::int64_t size) {
                       panel(block, rows_of(columns.here(), first, size),
                             first);
                     });
      extra.arrive();
      columns.arrive();
    }
  }

  void take_labels(const at::Tensor& labels, std::int64_t rows) {
    column_ids_ = labels_.of(labels.const_data_ptr<std::int64_t>(), rows);
  }

  Ids ids(std::int64_t row, std::int64_t column) const {
    return {row_ids_.data() + row, column_ids_.data() + column};
  }

  /// Some of a tile's rows. They meet themselves in the own block only.
  template <class Element>
  Tile<Element> stripe(Element* q, const Block& block, const RowRange& rows,
                       const RowRange& columns) const {
    return {q, rows.size, columns.size,
            static_cast<T>(std::abs(problem_.scale)),
            block.step == 0 ? rows.first - columns.first : kNoColumn};
  }

  const SameLabelProblem& problem_;
  std::int64_t count_;
  LabelIds labels_;
  std::vector<std::int32_t> row_ids_, column_ids_;
  at::Tensor rows_;  ///< whose products are times the scale's absolute value
  TileBuffer tiles_;
};

template <class T>
class SameLabelForward : private SameLabelRound<T> {
 public:
  explicit SameLabelForward(const SameLabelProblem& problem)
      : SameLabelRound<T>(problem),
        keep_(problem.rows.total() * count_ *
                  static_cast<std::int64_t>(sizeof(T)) <=
              problem.budget_bytes) {
    state_.statistics.resize(count_);
  }

  SameLabelState run() {
    this->go_round(
        problem_.labels,
        [&](const Block& block, const at::Tensor& labels) {
          this->take_labels(labels, block.rows);
        },
        [&](const Block& block, const at::Tensor& columns, std::int64_t first) {
          panel(block, columns, first);
        });
    finish();
    return std::move(state_);
  }

 private:
  using SameLabelRound<T>::problem_;
  using SameLabelRound<T>::count_;
  using SameLabelRound<T>::rows_;
  using SameLabelRound<T>::tiles_;

  void panel(const Block& block, const at::Tensor& columns,
             std::int64_t first_column) {
    at::Tensor kept;
    if (keep_) {
      kept = at::empty({count_, columns.size(0)}, problem_.z.options());
      state_.products.push_back(kept);
    }
    for_each_range(
        count_, kTileRows, [&](std::int64_t first, std::int64_t rows) {
          const at::Tensor z = rows_of(rows_, first, rows);
          at::Tensor tile;
          if (keep_) {
            tile = rows_of(kept, first, rows);
            product_into(tile, z, columns);
          } else {
            tile = tiles_.product(z, columns);
          }
          const T* const q = tile.const_data_ptr<T>();
          const RowRange width{first_column, columns.size(0)};
          for_each_stripe(
              rows, [&](std::int64_t begin, std::int64_t size, int /*thread*/) {
                const RowRange height{first + begin, size};
                add_to_statistics(
                    this->stripe(q + begin * width.size, block, height, width),
                    this->ids(height.first, first_column),
                    state_.statistics.data() + height.first);
              });
        });
  }

  void finish() {
    for (const SameLabelStatistics& row : state_.statistics) {
      if (row.found == 0) continue;
      ++state_.rows;
      // The sum is at least 1. If the largest one is the only positive, then
      // only the others make it more: not a digit of theirs is lost.
      state_.loss += std::log1p(row.others + (row.positives - 1)) +
                     std::abs(problem_.scale) * row.distance / row.found;
    }
  }

  bool keep_;
  SameLabelState state_;
};

template <class T>
class SameLabelBackward : private SameLabelRound<T> {
 public:
  SameLabelBackward(const SameLabelProblem& problem, SameLabelState& state,
                    double weight)
      : SameLabelRound<T>(problem),
        state_(state),
        weight_(weight),
        products_(std::move(state.products)),
        gradient_(at::zeros_like(problem.z)) {
    state.products.clear();
  }

  at::Tensor run() {
    const at::Tensor terms = row_terms();
    own_.unpack(terms, count_);
    const at::Tensor packed = at::empty({count_, 1 + kTerms}, at::kLong);
    packed.select(1, 0).copy_(problem_.labels);
    packed.narrow(1, 1, kTerms).copy_(terms.view(at::kLong));
    this->go_round(
        packed,
        [&](const Block& block, const at::Tensor& arriving) {
          this->take_labels(arriving.select(1, 0).contiguous(), block.rows);
          columns_.unpack(
              arriving.narrow(1, 1, kTerms).contiguous().view(at::kDouble),
              block.rows);
        },
        [&](const Block& block, const at::Tensor& columns, std::int64_t first) {
          panel(block, columns, first);
        });
    return gradient_.mul_(problem_.scale);
  }

 private:
  using SameLabelRound<T>::problem_;
  using SameLabelRound<T>::count_;
  using SameLabelRound<T>::rows_;
  using SameLabelRound<T>::tiles_;

  static constexpr std::int64_t kTerms = 4;

  /// SameLabelTerms's, padded.
  struct Terms {
    std::vector<T> max, factor, positives_factor, positives;

    void unpack(const at::Tensor& terms, std::int64_t rows) {
      const double* const from = terms.const_data_ptr<double>();
      std::int64_t term = 0;
      for (std::vector<T>* values :
           {&max, &factor, &positives_factor, &positives}) {
        values->assign(rows + kPadding, 0);
        for (std::int64_t i = 0; i < rows; ++i) {
          (*values)[i] = static_cast<T>(from[kTerms * i + term]);
        }
        ++term;
      }
    }
    SameLabelTerms<T> from(std::int64_t row) const {
      return {max.data() + row, factor.data() + row,
              positives_factor.data() + row, positives.data() + row};
    }
  };

  /// One row of numbers for each of this rank's rows.
  at::Tensor row_terms() const {
    const at::Tensor result = at::zeros({count_, kTerms}, at::kDouble);
    double* terms = result.mutable_data_ptr<double>();
    for (const SameLabelStatistics& row : state_.statistics) {
      terms[0] = row.max;
      if (row.found > 0) {
        const double factor = weight_ / (row.others + row.positives);
        terms[1] = factor;
        // The probability of a single one is that of no other, less than 1.
        terms[2] = row.found == 1 ? 0 : factor;
        terms[3] = row.found == 1 ? factor * row.others : weight_ / row.found;
      }
      terms += kTerms;
    }
    return result;
  }

  void panel(const Block& block, const at::Tensor& columns,
             std::int64_t first_column) {
    at::Tensor kept;
    if (!products_.empty()) kept = std::move(products_[next_product_++]);
    const RowRange width{first_column, columns.size(0)};
    for_each_range(
        count_, kept.defined() ? count_ : kTileRows,
        [&](std::int64_t first, std::int64_t rows) {
          const at::Tensor tile =
              kept.defined()
                  ? kept
                  : tiles_.product(rows_of(rows_, first, rows), columns);
          T* const q = tile.mutable_data_ptr<T>();
          for_each_stripe(
              rows, [&](std::int64_t begin, std::int64_t size, int /*thread*/) {
                const RowRange height{first + begin, size};
                softmax_gradient(
                    this->stripe(q + begin * width.size, block, height, width),
                    this->ids(height.first, first_column),
                    own_.from(height.first), columns_.from(first_column));
              });
          add_product(rows_of(gradient_, first, rows), tile, columns);
        });
  }

  SameLabelState& state_;
  double weight_;
  std::vector<at::Tensor> products_;
  std::size_t next_product_ = 0;
  Terms own_, columns_;
  at::Tensor gradient_;
};

}  // namespace

SameLabelState same_label_forward(const SameLabelProblem& problem) {
  if (problem.z.scalar_type() == at::kDouble) {
    return SameLabelForward<double>(problem).run();
  }
  return SameLabelForward<float>(problem).run();
}

at::Tensor same_label_backward(const SameLabelProblem& problem,
                               SameLabelState& state, double weight) {
  if (problem.z.scalar_type() == at::kDouble) {
    return SameLabelBackward<double>(problem, state, weight).run();
  }
  return SameLabelBackward<float>(problem, state, weight).run();
}

}  // namespace tally::losses::internal

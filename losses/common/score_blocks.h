#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tally/losses/common/label_plane.h"
#include "tally/losses/common/labeled_positions.h"
#include "tally/losses/common/score_block.h"
#include "tally/losses/common/transpose.h"
#include "tally/state/fresh_tensor.h"

namespace tally::losses::internal {

/// The work on scores on the CPU, of any strides, in ranges of positions that
/// do not depend on the number of threads.
template <class T>
class ScoreBlocks {
 public:
  ScoreBlocks(const LabeledPositions& input, bool by_sample)
      : preds_(input.preds),
        target_(readable(input.target)),
        ignore_index_(input.ignore_index),
        index_(input.index),
        groups_(input.samples),
        classes_(input.classes),
        positions_(input.positions),
        per_sample_(positions_),
        stride_(strides_of(preds_, classes_, positions_)) {
    const Strides labels =
        strides_of(target_, index_ ? 1 : classes_, positions_);
    plane_ = {target_.const_data_ptr(), target_.scalar_type(), labels.group,
              labels.row, labels.position};
    if (!by_sample) merge_samples();
    const std::int64_t classes = std::max<std::int64_t>(classes_, 1);
    range_ =
        std::clamp(padded(kRange / classes), kPositionUnit, std::int64_t{8192});
    ranges_ = (positions_ + range_ - 1) / range_;
    block_ = std::min(
        padded(positions_),
        std::clamp(padded(4096 / classes), kPositionUnit, std::int64_t{512}));
  }

  /// Of samples in this order, or one of all.
  std::int64_t groups() const { return groups_; }

  /// Memory for kKeptNumbers of each position.
  at::Tensor kept_memory() const {
    return tally::internal::fresh_tensor({groups_ * ranges_ * kept_of_unit()},
                                         preds_.scalar_type());
  }

  /// The sums of each group, to which `add(block, sums)` adds, and what it
  /// keeps if there is memory for it. A label that none is comes first, in the
  /// order of positions.
  template <class Add>
  std::vector<double> sums(std::int64_t size, const at::Tensor& kept,
                           const Add& add, std::optional<double>& wrong) const {
    const std::int64_t units = groups_ * ranges_;
    std::vector<double> parts(static_cast<std::size_t>(units * size));
    std::vector<std::optional<double>> refused(static_cast<std::size_t>(units));
    const auto body = [&](std::int64_t unit, const ScoreBlock<T>& block,
                          const Span&, Memory& memory) {
      add(block, parts.data() + unit * size);
      if (memory.wrong && !refused[unit]) refused[unit] = memory.wrong;
    };
    for_each_block(/*by_position=*/false, kept, body);
    for (const auto& value : refused) {
      if (value && !wrong) wrong = value;
    }
    if (ranges_ == 1) return parts;
    std::vector<double> result(static_cast<std::size_t>(groups_ * size));
    for (std::int64_t unit = 0; unit < units; ++unit) {
      double* const group = result.data() + unit / ranges_ * size;
      const double* const part = parts.data() + unit * size;
      for (std::int64_t i = 0; i < size; ++i) group[i] += part[i];
    }
    return result;
  }

  /// The gradient of preds: rows as those of scores, which `fill(group, block,
  /// rows, stride)` writes. With `by_position` it takes blocks by position,
  /// where classes lie side by side.
  template <class Fill>
  at::Tensor gradients(bool by_position, const at::Tensor& kept,
                       const Fill& fill) const {
    at::Tensor result = fresh_gradient();
    Strides to = strides_of(result, classes_, per_sample_);
    to.position = position_stride(to.group, to.position);
    auto* const out = result.data_ptr<T>();
    const auto body = [&](std::int64_t unit, const ScoreBlock<T>& block,
                          const Span& span, Memory& memory) {
      const std::int64_t group = unit / ranges_;
      T* const start = out + offset(to, group, span.first);
      if (block.by_position) return fill(group, block, start, to.position);
      const bool direct = to.position == 1 && span.count == block.size;
      T* const rows = direct ? start : memory.gradients;
      const std::int64_t stride = direct ? to.row : block.size;
      fill(group, block, rows, stride);
      if (!direct) copy(rows, {0, stride, 1}, span.count, start, to);
    };
    // The last vector of a row is filled in part.
    const bool pays = classes_ >= 8 && are_side_by_side(stride_);
    for_each_block(by_position && pays && are_side_by_side(to), kept, body);
    return result;
  }

 private:
  // How many scores one thread takes at a time.
  static constexpr std::int64_t kRange = std::int64_t{1} << 18;

  struct Strides {
    std::int64_t group, row, position;
  };
  struct Span {
    std::int64_t first, count;
  };
  struct Memory {
    explicit Memory(std::int64_t size)
        : all(new T[static_cast<std::size_t>(4 * size)]),
          scores(all.get()),
          labels(scores + size),
          probabilities(labels + size),
          gradients(probabilities + size) {}

    std::unique_ptr<T[]> all;
    T *scores, *labels, *probabilities, *gradients;
    std::optional<double> wrong;
  };

  static std::int64_t padded(std::int64_t size) {
    return (size + kPositionUnit - 1) / kPositionUnit * kPositionUnit;
  }

  static Strides strides_of(const at::Tensor& tensor, std::int64_t classes,
                            std::int64_t positions) {
    if (tensor.is_contiguous()) return {classes * positions, positions, 1};
    return {tensor.stride(0), tensor.dim() == 3 ? tensor.stride(1) : 0,
            tensor.stride(-1)};
  }

  static bool are_side_by_side(const Strides& strides) {
    return strides.row == 1 && strides.position != 1;
  }

  /// From rows of the one to rows of the other, of one group.
  void copy(const T* from, const Strides& strides, std::int64_t count, T* to,
            const Strides& others) const {
    if (are_side_by_side(strides) && others.position == 1) {
      transpose(from, strides.position, count, classes_, to, others.row);
    } else if (strides.position == 1 && are_side_by_side(others)) {
      transpose(from, strides.row, classes_, count, to, others.position);
    } else {
      for (std::int64_t c = 0; c < classes_; ++c) {
        for (std::int64_t i = 0; i < count; ++i) {
          to[c * others.row + i * others.position] =
              from[c * strides.row + i * strides.position];
        }
      }
    }
  }

  /// Samples merge in it if they do in preds.
  at::Tensor fresh_gradient() const {
    if (preds_.is_contiguous()) {
      return tally::internal::fresh_tensor(preds_.sizes(),
                                           preds_.scalar_type());
    }
    at::Tensor result = at::empty_like(preds_);
    if (!merged_ || merges(result.stride(0), result.stride(2), per_sample_)) {
      return result;
    }
    return at::empty({preds_.size(0), per_sample_, classes_}, preds_.options())
        .transpose(1, 2);
  }

  /// Whether samples lie one behind the other.
  static bool merges(std::int64_t group, std::int64_t position,
                     std::int64_t positions) {
    return positions == 1 || group == positions * position;
  }

  /// Samples of few positions are one sample of many, where they lie so.
  void merge_samples() {
    merged_ = merges(stride_.group, stride_.position, per_sample_) &&
              merges(plane_.group, plane_.position, per_sample_);
    if (!merged_) return;
    stride_.position = position_stride(stride_.group, stride_.position);
    plane_.position = position_stride(plane_.group, plane_.position);
    positions_ *= groups_;
    groups_ = 1;
  }

  /// The stride of a dimension of size 1 may be anything.
  std::int64_t position_stride(std::int64_t group,
                               std::int64_t position) const {
    return merged_ && per_sample_ == 1 ? group : position;
  }

  static std::int64_t offset(const Strides& strides, std::int64_t group,
                             std::int64_t position) {
    return group * strides.group + position * strides.position;
  }

  /// The last range of a group may be smaller.
  std::int64_t kept_of_unit() const {
    return kKeptNumbers * std::min(range_, padded(positions_));
  }

  template <class Body>
  void for_each_block(bool by_position, const at::Tensor& kept,
                      const Body& body) const {
    T* const keeps = kept.defined() ? kept.data_ptr<T>() : nullptr;
    const std::int64_t units = groups_ * ranges_;
    const std::int64_t work =
        std::max<std::int64_t>(1, classes_ * std::min(positions_, range_));
    at::parallel_for(0, units, std::max<std::int64_t>(1, 32768 / work),
                     [&](std::int64_t begin, std::int64_t end) {
                       Memory memory(block_ * classes_);
                       for (std::int64_t unit = begin; unit < end; ++unit) {
                         memory.wrong.reset();
                         const std::int64_t first = unit % ranges_ * range_;
                         const std::int64_t last =
                             std::min(first + range_, positions_);
                         for (std::int64_t i = first; i < last; i += block_) {
                           const Span span{i, std::min(block_, last - i)};
                           ScoreBlock<T> block =
                               read(unit / ranges_, span, by_position, memory);
                           if (keeps) {
                             block.kept = keeps + unit * kept_of_unit() +
                                          kKeptNumbers * (i - first);
                           }
                           body(unit, block, span, memory);
                         }
                       }
                     });
  }

  ScoreBlock<T> read(std::int64_t group, const Span& span, bool by_position,
                     Memory& memory) const {
    const std::int64_t size = padded(span.count);
    ScoreBlock<T> block{};
    block.classes = classes_;
    block.size = size;
    block.count = span.count;
    block.index = index_;
    block.by_position = by_position;
    block.probabilities = memory.probabilities;

    const T* const from =
        preds_.const_data_ptr<T>() + offset(stride_, group, span.first);
    if (by_position) {
      block.scores = from;
      block.score_stride = stride_.position;
    } else if (stride_.position == 1 && span.count == size) {
      block.scores = from;
      block.score_stride = stride_.row;
    } else {
      T* const scores = memory.scores;
      copy(from, stride_, span.count, scores, {0, size, 1});
      for (std::int64_t c = 0; span.count < size && c < classes_; ++c) {
        std::fill(scores + c * size + span.count, scores + (c + 1) * size,
                  T(0));
      }
      block.scores = scores;
      block.score_stride = size;
    }

    T* const labels = memory.labels;
    const std::int64_t rows = index_ ? 1 : classes_;
    const double largest = index_ ? static_cast<double>(classes_ - 1) : 1;
    for (std::int64_t c = 0; c < rows; ++c) {
      T* const row = labels + c * size;
      read_labels(
          plane_,
          group * plane_.group + c * plane_.row + span.first * plane_.position,
          span.count, largest, ignore_index_, row, memory.wrong);
      std::fill(row + span.count, row + size, T(-1));
    }
    block.target = labels;
    block.target_stride = size;
    return block;
  }

  at::Tensor preds_, target_;
  std::optional<std::int64_t> ignore_index_;
  bool index_;
  std::int64_t groups_, classes_, positions_, per_sample_;
  bool merged_ = false;
  Strides stride_;
  Plane plane_{};
  std::int64_t range_ = 0, ranges_ = 0, block_ = 0;
};

}  // namespace tally::losses::internal

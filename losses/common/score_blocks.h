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

namespace tally::losses::internal {

/// The work on scores on the CPU, of any strides, in ranges of positions that
/// do not depend on the number of threads.
template <class T>
class ScoreBlocks {
 public:
  ScoreBlocks(const LabeledPositions& input, bool by_sample)
      : preds_(input.preds.detach()),
        target_(readable(input.target)),
        ignore_index_(input.ignore_index),
        index_(input.index()),
        groups_(preds_.size(0)),
        classes_(preds_.size(1)),
        positions_(preds_.size(2)),
        per_sample_(positions_),
        stride_{preds_.stride(0), preds_.stride(1), preds_.stride(2)} {
    plane_ = {target_.data_ptr(), target_.scalar_type(), target_.stride(0),
              index_ ? 0 : target_.stride(1), target_.stride(-1)};
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

  /// The sums of each group, to which `add(block, sums)` adds. A label that
  /// none is comes first, in the order of positions.
  template <class Add>
  std::vector<double> sums(std::int64_t size, const Add& add,
                           std::optional<double>& wrong) const {
    const std::int64_t units = groups_ * ranges_;
    std::vector<double> parts(static_cast<std::size_t>(units * size));
    std::vector<std::optional<double>> refused(static_cast<std::size_t>(units));
    for_each_block([&](std::int64_t unit, const ScoreBlock<T>& block,
                       const Span&, Memory& memory) {
      add(block, parts.data() + unit * size);
      if (memory.wrong && !refused[unit]) refused[unit] = memory.wrong;
    });
    for (const auto& value : refused) {
      if (value && !wrong) wrong = value;
    }
    if (ranges_ == 1) return parts;
    std::vector<double> result(static_cast<std::size_t>(groups_ * size));
    for (std::int64_t unit = 0; unit < units; ++unit) {
      double* const group = result.data() + unit / ranges_ * size;
      for (std::int64_t i = 0; i < size; ++i)
        group[i] += parts[unit * size + i];
    }
    return result;
  }

  /// The gradient of preds, rows of classes that `fill(group, block, rows,
  /// stride)` writes.
  template <class Fill>
  at::Tensor gradients(const Fill& fill) const {
    at::Tensor result = at::empty_like(preds_);
    if (merged_ && !merges(result.stride(0), result.stride(2), per_sample_)) {
      result =
          at::empty({preds_.size(0), per_sample_, classes_}, preds_.options())
              .transpose(1, 2);
    }
    const Strides to{result.stride(0), result.stride(1),
                     position_stride(result.stride(0), result.stride(2))};
    auto* const out = result.data_ptr<T>();
    for_each_block([&](std::int64_t unit, const ScoreBlock<T>& block,
                       const Span& span, Memory& memory) {
      const std::int64_t group = unit / ranges_;
      T* const start = out + offset(to, group, span.first);
      const bool direct = to.position == 1 && span.count == block.size;
      T* const rows = direct ? start : memory.gradients;
      const std::int64_t stride = direct ? to.row : block.size;
      fill(group, block, rows, stride);
      if (direct) return;
      for (std::int64_t c = 0; c < classes_; ++c) {
        for (std::int64_t i = 0; i < span.count; ++i) {
          start[c * to.row + i * to.position] = rows[c * stride + i];
        }
      }
    });
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

  template <class Body>
  void for_each_block(const Body& body) const {
    const std::int64_t units = groups_ * ranges_;
    const std::int64_t work =
        std::max<std::int64_t>(1, classes_ * std::min(positions_, range_));
    at::parallel_for(
        0, units, std::max<std::int64_t>(1, 32768 / work),
        [&](std::int64_t begin, std::int64_t end) {
          Memory memory(block_ * classes_);
          for (std::int64_t unit = begin; unit < end; ++unit) {
            memory.wrong.reset();
            const std::int64_t first = unit % ranges_ * range_;
            const std::int64_t last = std::min(first + range_, positions_);
            for (std::int64_t i = first; i < last; i += block_) {
              const Span span{i, std::min(block_, last - i)};
              body(unit, read(unit / ranges_, span, memory), span, memory);
            }
          }
        });
  }

  ScoreBlock<T> read(std::int64_t group, const Span& span,
                     Memory& memory) const {
    const std::int64_t size = padded(span.count);
    ScoreBlock<T> block{};
    block.classes = classes_;
    block.size = size;
    block.index = index_;
    block.probabilities = memory.probabilities;

    const T* const from =
        preds_.data_ptr<T>() + offset(stride_, group, span.first);
    if (stride_.position == 1 && span.count == size) {
      block.scores = from;
      block.score_stride = stride_.row;
    } else {
      T* const scores = memory.scores;
      for (std::int64_t c = 0; c < classes_; ++c) {
        for (std::int64_t i = 0; i < span.count; ++i) {
          scores[c * size + i] = from[c * stride_.row + i * stride_.position];
        }
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

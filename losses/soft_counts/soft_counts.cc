#include "tally/losses/soft_counts/soft_counts.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/soft_counts/label_plane.h"
#include "tally/sync/autograd.h"

namespace tally::losses::internal {
namespace {

using sync::Call;

// Of one thread at a time.
constexpr std::int64_t kPositions = 8192;

std::int64_t padded(std::int64_t size) {
  return (size + kPositionUnit - 1) / kPositionUnit * kPositionUnit;
}

[[noreturn]] void refuse(const Call& call, const SoftCountsInput& input,
                         double value) {
  const std::string also =
      input.ignore_index ? c10::str(" or ", *input.ignore_index) : "";
  TORCH_CHECK_VALUE(!input.index(), call.asker,
                    ": expected target to be a class below ",
                    input.preds.size(1), also, ", got ", value);
  TORCH_CHECK_VALUE(false, call.asker, ": expected target in [0, 1]", also,
                    ", got ", value);
}

/// The work on plain scores on the CPU, in ranges of positions.
template <class T>
class Scan {
 public:
  explicit Scan(const SoftCountsInput& input)
      : input_(input),
        preds_(input.preds.detach()),
        target_(readable(input.target)),
        groups_(preds_.size(0)),
        classes_(preds_.size(1)),
        positions_(preds_.size(2)),
        per_sample_(positions_),
        stride_{preds_.stride(0), preds_.stride(1), preds_.stride(2)} {
    plane_ = {target_.data_ptr(), target_.scalar_type(), target_.stride(0),
              input.index() ? 0 : target_.stride(1), target_.stride(-1)};
    merge_samples();
    ranges_ = (positions_ + kPositions - 1) / kPositions;
    block_ = std::clamp(padded(4096 / std::max<std::int64_t>(classes_, 1)),
                        kPositionUnit, std::int64_t{512});
  }

  /// [groups, kSoftCounts, C]
  at::Tensor counts(const Call& call) const {
    const std::int64_t units = groups_ * ranges_, size = kSoftCounts * classes_;
    std::vector<double> sums(static_cast<std::size_t>(units * size));
    std::vector<std::optional<double>> wrong(static_cast<std::size_t>(units));
    for_each_block([&](std::int64_t unit, const ScoreBlock<T>& block,
                       const Span&, Memory& memory) {
      add_soft_counts(block, sums.data() + unit * size);
      if (memory.wrong && !wrong[unit]) wrong[unit] = memory.wrong;
    });
    for (const auto& value : wrong) {
      if (value) refuse(call, input_, *value);
    }
    const std::int64_t results = input_.by_sample ? groups_ : 1;
    at::Tensor result =
        at::zeros({results, kSoftCounts, classes_}, at::kDouble);
    auto* const out = result.data_ptr<double>();
    for (std::int64_t unit = 0; unit < units; ++unit) {
      double* const group =
          out + (input_.by_sample ? unit / ranges_ * size : 0);
      for (std::int64_t i = 0; i < size; ++i) group[i] += sums[unit * size + i];
    }
    return result;
  }

  /// The gradient of preds, given that of the counts.
  at::Tensor gradients(const at::Tensor& of_counts) const {
    const at::Tensor given = of_counts.to(preds_.scalar_type()).contiguous();
    at::Tensor result = at::empty_like(preds_);
    if (merged_ && !merges(result.stride(0), result.stride(2), per_sample_)) {
      result =
          at::empty({preds_.size(0), per_sample_, classes_}, preds_.options())
              .transpose(1, 2);
    }
    const Strides to{result.stride(0), result.stride(1),
                     position_stride(result.stride(0), result.stride(2))};
    auto* const out = result.data_ptr<T>();
    const T* const slopes = given.data_ptr<T>();
    for_each_block([&](std::int64_t unit, const ScoreBlock<T>& block,
                       const Span& span, Memory& memory) {
      const std::int64_t group = unit / ranges_;
      const T* const both =
          slopes + (input_.by_sample ? group * kSoftCounts * classes_ : 0);
      T* const start = out + offset(to, group, span.first);
      const bool direct = to.position == 1 && span.count == block.size;
      T* const rows = direct ? start : memory.gradients.data();
      const std::int64_t stride = direct ? to.row : block.size;
      soft_count_gradients(block, both, both + classes_, rows, stride);
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
  struct Strides {
    std::int64_t group, row, position;
  };
  struct Span {
    std::int64_t first, count;
  };
  struct Memory {
    std::vector<T> scores, labels, probabilities, gradients;
    std::optional<double> wrong;
  };

  /// Whether samples lie one behind the other.
  static bool merges(std::int64_t group, std::int64_t position,
                     std::int64_t positions) {
    return positions == 1 || group == positions * position;
  }

  /// Samples of few positions are one sample of many, where they lie so.
  void merge_samples() {
    merged_ = !input_.by_sample &&
              merges(stride_.group, stride_.position, per_sample_) &&
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
        std::max<std::int64_t>(1, classes_ * std::min(positions_, kPositions));
    at::parallel_for(
        0, units, std::max<std::int64_t>(1, 32768 / work),
        [&](std::int64_t begin, std::int64_t end) {
          Memory memory;
          const auto size = static_cast<std::size_t>(block_ * classes_);
          memory.scores.resize(size);
          memory.labels.resize(size);
          memory.probabilities.resize(size);
          memory.gradients.resize(size);
          for (std::int64_t unit = begin; unit < end; ++unit) {
            memory.wrong.reset();
            const std::int64_t first = unit % ranges_ * kPositions;
            const std::int64_t last = std::min(first + kPositions, positions_);
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
    block.activation = input_.activation;
    block.index = input_.index();
    block.soft_labels = input_.soft_labels;
    block.probabilities = memory.probabilities.data();

    const T* const from =
        preds_.data_ptr<T>() + offset(stride_, group, span.first);
    if (stride_.position == 1 && span.count == size) {
      block.scores = from;
      block.score_stride = stride_.row;
    } else {
      T* const scores = memory.scores.data();
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

    T* const labels = memory.labels.data();
    const std::int64_t rows = block.index ? 1 : classes_;
    const double largest = block.index ? static_cast<double>(classes_ - 1) : 1;
    for (std::int64_t c = 0; c < rows; ++c) {
      T* const row = labels + c * size;
      read_labels(
          plane_,
          group * plane_.group + c * plane_.row + span.first * plane_.position,
          span.count, largest, input_.ignore_index, row, memory.wrong);
      std::fill(row + span.count, row + size, T(-1));
    }
    block.target = labels;
    block.target_stride = size;
    return block;
  }

  const SoftCountsInput& input_;
  at::Tensor preds_, target_;
  std::int64_t groups_, classes_, positions_, per_sample_;
  bool merged_ = false;
  Strides stride_;
  Plane plane_{};
  std::int64_t ranges_ = 0, block_ = 0;
};

/// By LibTorch's functions: for other devices, and second-order gradients.
struct Composite {
  at::Tensor p, y, counts;  ///< [N, C, P]; `counts` is bool

  Composite(const SoftCountsInput& input, const at::Tensor& preds) {
    p = input.activation == Activation::kSoftmax   ? preds.softmax(1)
        : input.activation == Activation::kSigmoid ? preds.sigmoid()
                                                   : preds;
    at::Tensor target = input.target.detach();
    if (input.index()) target = target.unsqueeze(1);
    counts = input.ignore_index ? target.ne(*input.ignore_index)
                                : at::ones_like(target, at::kBool);
    counts = counts.expand_as(preds);
    if (input.index()) {
      const at::Tensor classes = at::arange(
          preds.size(1),
          at::TensorOptions().dtype(at::kLong).device(preds.device()));
      y = target.eq(classes.view({1, -1, 1})).to(preds.scalar_type());
    } else {
      y = target.to(preds.scalar_type());
    }
  }

  bool takes_minimum(const SoftCountsInput& input) const {
    return input.soft_labels && !input.index();
  }

  at::Tensor sums(const SoftCountsInput& input) const {
    const at::Tensor zero = at::zeros({}, p.options());
    std::vector<at::Tensor> parts;
    for (const at::Tensor& part :
         {takes_minimum(input) ? at::minimum(p, y) : p.mul(y), p, y,
          at::ones_like(y)}) {
      parts.push_back(
          at::where(counts, part, zero).sum({2}, false, at::kDouble));
    }
    const at::Tensor all = at::stack(parts, 1);
    return input.by_sample ? all : all.sum({0}, /*keepdim=*/true);
  }

  /// The gradient of scores, given that of the counts, with its own graph.
  at::Tensor gradient(const SoftCountsInput& input,
                      const at::Tensor& of_counts) const {
    const at::Tensor given = of_counts.to(p.scalar_type());
    const at::Tensor zero = at::zeros({}, p.options());
    const at::Tensor factor =
        takes_minimum(input)
            ? at::where(p.eq(y), y, p.lt(y).to(p.scalar_type()))
            : y;
    const at::Tensor slope =
        at::where(counts,
                  given.select(1, 0).unsqueeze(2).mul(factor).add(
                      given.select(1, 1).unsqueeze(2)),
                  zero);
    if (input.activation == Activation::kNone) return slope;
    const at::Tensor result =
        input.activation == Activation::kSigmoid
            ? slope.mul(p).mul(p.neg().add(1))
            : p.mul(slope.sub(p.mul(slope).sum({1}, /*keepdim=*/true)));
    return at::where(counts, result, zero);
  }
};

void check_labels(const Call& call, const SoftCountsInput& input) {
  at::Tensor target = input.target.detach();
  if (input.ignore_index)
    target = target.masked_select(target.ne(*input.ignore_index));
  if (target.numel() == 0) return;
  const double largest =
      input.index() ? static_cast<double>(input.preds.size(1) - 1) : 1;
  const at::Tensor wrong = target.masked_select(
      target.ge(0).logical_and(target.le(largest)).logical_not());
  if (wrong.numel() > 0) refuse(call, input, wrong[0].item<double>());
}

template <class T>
at::Tensor scanned(const Call& call, const SoftCountsInput& input) {
  const at::Tensor counts = Scan<T>(input).counts(call);
  if (!sync::has_graph(input.preds)) return counts;
  const Untouched inputs({input.preds, input.target});
  return sync::attach(
      input.preds, counts, [call, input, inputs](const at::Tensor& gradient) {
        const AutocastOff as_written;
        inputs.check(call);
        if (at::GradMode::is_enabled()) {
          return Composite(input, input.preds).gradient(input, gradient);
        }
        return Scan<T>(input).gradients(gradient);
      });
}

}  // namespace

at::Tensor soft_counts(const Call& call, const SoftCountsInput& input) {
  if (input.preds.is_cpu()) {
    return input.preds.scalar_type() == at::kFloat
               ? scanned<float>(call, input)
               : scanned<double>(call, input);
  }
  check_labels(call, input);
  return Composite(input, input.preds).sums(input);
}

}  // namespace tally::losses::internal

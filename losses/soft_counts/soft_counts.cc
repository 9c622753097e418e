#include "tally/losses/soft_counts/soft_counts.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <utility>
#include <vector>

#include "tally/losses/common/autocast.h"
#include "tally/losses/common/loss_call.h"
#include "tally/losses/common/score_blocks.h"
#include "tally/sync/autograd.h"

namespace tally::losses::internal {
namespace {

using sync::Call;

ScoreRule rule_of(const SoftCountsInput& input) {
  return {input.activation, input.soft_labels};
}

/// [groups, kSoftCounts, C]
template <class T>
at::Tensor counts_of(const std::string& loss, const SoftCountsInput& input) {
  const ScoreRule rule = rule_of(input);
  const std::int64_t classes = input.classes;
  const std::int64_t size = kSoftCounts * classes;
  const ScoreBlocks<T> blocks(input, input.by_sample);
  std::optional<double> wrong;
  const std::vector<double> sums = blocks.sums(
      size, /*kept=*/{},
      [&](const ScoreBlock<T>& block, double* group) {
        add_soft_counts(block, rule, group);
      },
      wrong);
  if (wrong) refuse_label(loss, input, *wrong);
  const std::int64_t results = input.by_sample ? blocks.groups() : 1;
  at::Tensor result = at::zeros({results, kSoftCounts, classes}, at::kDouble);
  auto* const out = result.data_ptr<double>();
  for (std::size_t i = 0; i < sums.size(); ++i) {
    out[static_cast<std::int64_t>(i) % result.numel()] += sums[i];
  }
  return result;
}

/// The gradient of preds, given that of the counts.
template <class T>
at::Tensor gradients_of(const SoftCountsInput& input,
                        const at::Tensor& of_counts) {
  const ScoreRule rule = rule_of(input);
  const std::int64_t classes = input.classes;
  const at::Tensor given = of_counts.to(input.preds.scalar_type()).contiguous();
  const T* const slopes = given.data_ptr<T>();
  return ScoreBlocks<T>(input, input.by_sample)
      .gradients(/*by_position=*/false, /*kept=*/{},
                 [&](std::int64_t group, const ScoreBlock<T>& block, T* rows,
                     std::int64_t stride) {
                   const T* const both =
                       slopes +
                       (input.by_sample ? group * kSoftCounts * classes : 0);
                   soft_count_gradients(block, rule, both, both + classes, rows,
                                        stride);
                 });
}

/// By LibTorch's functions: for other devices, and second-order gradients.
struct Composite {
  at::Tensor p, y, counts;  ///< [N, C, P]; `counts` is bool

  Composite(const SoftCountsInput& input, const at::Tensor& preds) {
    p = input.activation == Activation::kSoftmax   ? preds.softmax(1)
        : input.activation == Activation::kSigmoid ? preds.sigmoid()
                                                   : preds;
    at::Tensor target = input.target.detach();
    if (input.index) target = target.unsqueeze(1);
    counts = input.ignore_index ? target.ne(*input.ignore_index)
                                : at::ones_like(target, at::kBool);
    counts = counts.expand_as(preds);
    if (input.index) {
      const at::Tensor classes = at::arange(
          preds.size(1),
          at::TensorOptions().dtype(at::kLong).device(preds.device()));
      y = target.eq(classes.view({1, -1, 1})).to(preds.scalar_type());
    } else {
      y = target.to(preds.scalar_type());
    }
  }

  bool takes_minimum(const SoftCountsInput& input) const {
    return input.soft_labels && !input.index;
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

}  // namespace

at::Tensor plain_soft_counts(const std::string& loss,
                             const SoftCountsInput& input) {
  return input.preds.scalar_type() == at::kFloat
             ? counts_of<float>(loss, input)
             : counts_of<double>(loss, input);
}

at::Tensor soft_counts_gradient(const SoftCountsInput& input,
                                const at::Tensor& of_counts) {
  return input.preds.scalar_type() == at::kFloat
             ? gradients_of<float>(input, of_counts)
             : gradients_of<double>(input, of_counts);
}

at::Tensor composite_soft_counts(const SoftCountsInput& input) {
  return Composite(input, input.preds).sums(input);
}

at::Tensor soft_counts(const Call& call, const SoftCountsInput& input) {
  if (!input.preds.is_cpu()) {
    check_label_values(call.asker, input);
    return composite_soft_counts(input);
  }
  const at::Tensor counts = plain_soft_counts(call.asker, input);
  if (!sync::has_graph(input.preds)) return counts;
  const Untouched inputs(true, {input.preds, input.target});
  return sync::attach(
      input.preds, counts, [call, input, inputs](const at::Tensor& gradient) {
        const AutocastOff as_written;
        inputs.check(call);
        if (at::GradMode::is_enabled()) {
          return Composite(input, input.preds).gradient(input, gradient);
        }
        return soft_counts_gradient(input, gradient);
      });
}

}  // namespace tally::losses::internal

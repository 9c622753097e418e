#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tally/losses/codebook/code_gradient.h"
#include "tally/losses/codebook/code_probability.h"
#include "tally/losses/common/autocast.h"
#include "tally/sync/autograd.h"

namespace tally::losses::internal {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr double kLeastLength = 1e-6;

at::Tensor length(const at::Tensor& vectors) {
  return vectors.norm(2, {-1}, /*keepdim=*/true);
}

at::Tensor direction(const at::Tensor& vectors) {
  return vectors.div(length(vectors).clamp_min(kLeastLength));
}

at::Tensor row_products(const at::Tensor& a, const at::Tensor& b) {
  return a.mul(b).sum(-1, /*keepdim=*/true);
}

struct Rotation : Function<Rotation> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& latent,
                            const at::Tensor& code) {
    context->save_for_backward({latent, code});
    return code.clone();
  }

  // Of operations with a graph: the gradient changes with the latent.
  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const AutocastOff autocast_off;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &latent = saved[0], &code = saved[1];
    const at::Tensor from = direction(latent), to = direction(code);
    const at::Tensor middle = direction(from.add(to));
    // The transpose of a reflection at `middle`, then one at `to`.
    const at::Tensor& gradient = gradients[0];
    const at::Tensor turned =
        gradient.sub(middle.mul(row_products(gradient, middle).mul(2)))
            .add(from.mul(row_products(gradient, to).mul(2)));
    const at::Tensor stretch =
        length(code).div(length(latent).clamp_min(kLeastLength));
    return {turned.mul(stretch), at::Tensor()};
  }
};

}  // namespace

at::Tensor pass_through(const at::Tensor& latent, const at::Tensor& code,
                        CodeGradient gradient) {
  const at::Tensor value = code.detach();
  return gradient == CodeGradient::kStraightThrough
             ? sync::replace_values(latent, value)
             : Rotation::apply(latent, value);
}

namespace {

// Numbers in the larger of the two tables of one piece of the tokens: 1 MB.
constexpr std::int64_t kTableNumbers = std::int64_t{1} << 18;

/// The probabilities of the codes of some bits, [c, n, 2^bits].
struct Table {
  /// `set` and `unset` are [c, n, bits].
  Table(const at::Tensor& set, const at::Tensor& unset) {
    levels.push_back(at::ones({set.size(0), set.size(1), 1}, set.options()));
    // The last bit first: the next one divides a row into halves.
    for (std::int64_t k = set.size(2); k-- > 0;) {
      const at::Tensor& rest = levels.back();
      levels.push_back(at::cat(
          {rest.mul(unset.narrow(2, k, 1)), rest.mul(set.narrow(2, k, 1))},
          -1));
    }
  }

  const at::Tensor& last() const { return levels.back(); }

  /// From the gradient of last() to that of `set`, were `unset` 1 - set.
  at::Tensor gradient(at::Tensor of_last, const at::Tensor& set) const {
    const std::int64_t bits = set.size(2);
    std::vector<at::Tensor> of_bits(static_cast<std::size_t>(bits));
    for (std::int64_t k = 0; k < bits; ++k) {
      const at::Tensor& rest = levels[bits - 1 - k];
      const auto halves = of_last.split(rest.size(2), -1);
      const at::Tensor difference = halves[1].sub(halves[0]);
      of_bits[k] = rest.mul(difference).sum(-1);
      of_last = halves[0].add(difference.mul(set.narrow(2, k, 1)));
    }
    return bits == 0 ? at::zeros_like(set) : at::stack(of_bits, -1);
  }

  /// levels[k] is of the last k bits.
  std::vector<at::Tensor> levels;
};

/// Some tokens' bits, in two halves.
struct Halves {
  explicit Halves(const at::Tensor& logits)  // [n, c, d]
      : set(at::sigmoid(logits.transpose(0, 1))),
        unset(at::sigmoid(logits.transpose(0, 1).neg())),
        cut(set.size(2) / 2),
        high(first(set), first(unset)),
        low(second(set), second(unset)) {}

  at::Tensor first(const at::Tensor& bits) const {
    return bits.narrow(2, 0, cut);
  }
  at::Tensor second(const at::Tensor& bits) const {
    return bits.narrow(2, cut, bits.size(2) - cut);
  }

  at::Tensor set, unset;
  std::int64_t cut;
  Table high, low;
};

/// How many tokens to take at once.
std::int64_t piece_of(const at::Tensor& logits) {
  const std::int64_t bits = logits.size(2) - logits.size(2) / 2;
  return std::max<std::int64_t>(
      1, (kTableNumbers / std::max<std::int64_t>(1, logits.size(1))) >> bits);
}

struct SumOfCodeProbabilities : Function<SumOfCodeProbabilities> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& logits) {
    context->save_for_backward({logits});
    const std::int64_t bits = logits.size(2);
    at::Tensor sum = at::zeros({logits.size(1), std::int64_t{1} << (bits / 2),
                                std::int64_t{1} << (bits - bits / 2)},
                               logits.options());
    if (logits.numel() > 0) {
      for (const at::Tensor& piece : logits.split(piece_of(logits))) {
        const Halves halves(piece);
        sum.baddbmm_(halves.high.last().transpose(1, 2), halves.low.last());
      }
    }
    return sum.flatten(1);
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const AutocastOff autocast_off;
    const at::Tensor logits = context->get_saved_variables()[0];
    if (logits.numel() == 0) return {at::zeros_like(logits)};
    const std::int64_t bits = logits.size(2);
    const at::Tensor of_sum =
        gradients[0].unflatten(1, {std::int64_t{1} << (bits / 2), -1});
    std::vector<at::Tensor> pieces;
    for (const at::Tensor& piece : logits.split(piece_of(logits))) {
      const Halves halves(piece);
      const at::Tensor of_set = at::cat(
          {halves.high.gradient(halves.low.last().bmm(of_sum.transpose(1, 2)),
                                halves.first(halves.set)),
           halves.low.gradient(halves.high.last().bmm(of_sum),
                               halves.second(halves.set))},
          2);
      pieces.push_back(
          of_set.mul(halves.set).mul(halves.unset).transpose(0, 1));
    }
    return {at::cat(pieces)};
  }
};

}  // namespace

at::Tensor bit_entropy(const at::Tensor& logits) {
  // Terms that are not negative: nothing cancels where a bit is certain.
  // Not abs(), which has no second derivative at 0.
  const at::Tensor size =
      logits.mul(logits.detach().lt(0).to(logits.scalar_type()).mul(-2).add(1));
  return at::softplus(size.neg()).add(size.mul(at::sigmoid(size.neg())));
}

at::Tensor sum_of_code_probabilities(const at::Tensor& logits) {
  return SumOfCodeProbabilities::apply(logits);
}

at::Tensor entropy(const at::Tensor& probabilities) {
  const double least = probabilities.scalar_type() == at::kDouble
                           ? std::numeric_limits<double>::min()
                           : std::numeric_limits<float>::min();
  return probabilities.mul(probabilities.clamp_min(least).log()).sum(-1).neg();
}

}  // namespace tally::losses::internal

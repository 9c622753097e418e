#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
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

/// Where a token's bits, or codes, lie in a tensor [c, n, ...].
template <class T>
T* at_token(const at::Tensor& table, std::int64_t codebook,
            std::int64_t token) {
  return static_cast<T*>(table.data_ptr()) + codebook * table.stride(0) +
         token * table.stride(1);
}

/// Calls body(T(), codebook, token) for all of a tensor [c, n, ...].
template <class Body>
void for_all_tokens(const at::Tensor& of_tokens, const Body& body) {
  AT_DISPATCH_FLOATING_TYPES(of_tokens.scalar_type(), "for_all_tokens", [&] {
    for (std::int64_t i = 0; i < of_tokens.size(0); ++i) {
      for (std::int64_t j = 0; j < of_tokens.size(1); ++j) {
        body(scalar_t(), i, j);
      }
    }
  });
}

/// The probabilities of the codes of some bits, [c, n, 2^bits]. With loops over
/// memory where no graph is recorded on the CPU: the tables of a few tokens are
/// small, and would be some hundred operators.
class Table {
 public:
  /// `set` and `unset` are [c, n, bits].
  Table(const at::Tensor& set, const at::Tensor& unset)
      : set_(set),
        is_plain_(set.is_cpu() && set.stride(2) == 1 && unset.stride(2) == 1 &&
                  !at::GradMode::is_enabled()) {
    const std::int64_t codebooks = set.size(0), tokens = set.size(1);
    const std::int64_t bits = set.size(2);
    if (is_plain_) {
      levels_.push_back(at::empty(
          {codebooks, tokens, (std::int64_t{2} << bits) - 1}, set.options()));
      for_all_tokens(set, [&](auto type, std::int64_t i, std::int64_t j) {
        using T = decltype(type);
        fill(at_token<const T>(set, i, j), at_token<const T>(unset, i, j), bits,
             at_token<T>(levels_[0], i, j));
      });
      const std::int64_t codes = std::int64_t{1} << bits;
      last_ = levels_[0].narrow(2, codes - 1, codes);
      return;
    }
    levels_.push_back(at::ones({codebooks, tokens, 1}, set.options()));
    // The last bit first: the next one divides a row into halves.
    for (std::int64_t k = bits; k-- > 0;) {
      const at::Tensor& rest = levels_.back();
      levels_.push_back(at::cat(
          {rest.mul(unset.narrow(2, k, 1)), rest.mul(set.narrow(2, k, 1))},
          -1));
    }
    last_ = levels_.back();
  }

  const at::Tensor& last() const { return last_; }

  /// From the gradient of last() to that of `set`, were `unset` 1 - set.
  at::Tensor gradient(at::Tensor of_last) const {
    const std::int64_t bits = set_.size(2);
    if (bits == 0) return at::zeros_like(set_);
    if (is_plain_) {
      at::Tensor of_bits = at::empty(set_.sizes(), set_.options());
      of_last = of_last.contiguous();
      for_all_tokens(set_, [&](auto type, std::int64_t i, std::int64_t j) {
        using T = decltype(type);
        fold(at_token<const T>(set_, i, j), bits,
             at_token<const T>(levels_[0], i, j), at_token<T>(of_last, i, j),
             at_token<T>(of_bits, i, j));
      });
      return of_bits;
    }
    std::vector<at::Tensor> of_bits(static_cast<std::size_t>(bits));
    for (std::int64_t k = 0; k < bits; ++k) {
      const at::Tensor& rest = levels_[bits - 1 - k];
      const auto halves = of_last.split(rest.size(2), -1);
      const at::Tensor difference = halves[1].sub(halves[0]);
      of_bits[k] = rest.mul(difference).sum(-1);
      of_last = halves[0].add(difference.mul(set_.narrow(2, k, 1)));
    }
    return at::stack(of_bits, -1);
  }

 private:
  /// The levels of one token, one after the other.
  template <class T>
  static void fill(const T* set, const T* unset, std::int64_t bits, T* rest) {
    *rest = 1;
    std::int64_t size = 1;
    for (std::int64_t k = bits; k-- > 0; size *= 2) {
      T* const next = rest + size;
      for (std::int64_t i = 0; i < size; ++i) {
        next[i] = rest[i] * unset[k];
        next[size + i] = rest[i] * set[k];
      }
      rest = next;
    }
  }

  /// gradient() of one token. Overwrites `of_last`.
  template <class T>
  static void fold(const T* set, std::int64_t bits, const T* levels, T* of_last,
                   T* of_bits) {
    for (std::int64_t k = 0; k < bits; ++k) {
      const std::int64_t size = std::int64_t{1} << (bits - 1 - k);
      const T* const rest = levels + size - 1;
      T sum = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const T difference = of_last[size + i] - of_last[i];
        sum += rest[i] * difference;
        of_last[i] += difference * set[k];
      }
      of_bits[k] = sum;
    }
  }

  at::Tensor set_;
  bool is_plain_;
  /// levels_[k] is of the last k bits; of a plain table, all are in levels_[0].
  std::vector<at::Tensor> levels_;
  at::Tensor last_;
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
          {halves.high.gradient(halves.low.last().bmm(of_sum.transpose(1, 2))),
           halves.low.gradient(halves.high.last().bmm(of_sum))},
          2);
      pieces.push_back(
          of_set.mul(halves.set).mul(halves.unset).transpose(0, 1));
    }
    return {at::cat(pieces)};
  }
};

// These two are one node each, with gradients of operations.
struct BitEntropy : Function<BitEntropy> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& logits) {
    context->save_for_backward({logits});
    // Terms that are not negative: nothing cancels where a bit is certain.
    const at::Tensor less = logits.abs().neg_();
    return at::softplus(less).sub_(at::sigmoid(less).mul_(less));
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const AutocastOff autocast_off;
    const at::Tensor logits = context->get_saved_variables()[0];
    const at::Tensor slope = at::sigmoid(logits).mul(at::sigmoid(logits.neg()));
    return {gradients[0].mul(logits).mul(slope).neg()};
  }
};

struct Entropy : Function<Entropy> {
  static double least(const at::Tensor& probabilities) {
    return probabilities.scalar_type() == at::kDouble
               ? std::numeric_limits<double>::min()
               : std::numeric_limits<float>::min();
  }

  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& probabilities) {
    context->save_for_backward({probabilities});
    return probabilities.clamp_min(least(probabilities))
        .log_()
        .mul_(probabilities)
        .sum(-1)
        .neg_();
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    const AutocastOff autocast_off;
    const at::Tensor probabilities = context->get_saved_variables()[0];
    const double limit = least(probabilities);
    const at::Tensor slope = probabilities.clamp_min(limit).log().add(
        probabilities.ge(limit).to(probabilities.scalar_type()));
    return {gradients[0].neg().unsqueeze(-1).mul(slope)};
  }
};

}  // namespace

at::Tensor bit_entropy(const at::Tensor& logits) {
  return BitEntropy::apply(logits);
}

at::Tensor sum_of_code_probabilities(const at::Tensor& logits) {
  return SumOfCodeProbabilities::apply(logits);
}

at::Tensor entropy(const at::Tensor& probabilities) {
  return Entropy::apply(probabilities);
}

}  // namespace tally::losses::internal

#include "tally/losses/common/row_pieces.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>

#include "tally/losses/common/autocast.h"

namespace tally::losses::internal {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;

constexpr std::int64_t kBytesAtOnce = 16 << 20;

struct Pieces : torch::CustomClassHolder {
  std::int64_t by_row;  ///< how many tensors are
  std::int64_t rows_at_once;
  PieceFunction function;

  template <class Body>
  void for_each(const Tensors& tensors, const Body& body) const {
    const std::int64_t rows = tensors[0].size(0);
    // One of no rows, too, so that gradients have their graph.
    std::int64_t first = 0;
    do {
      body(first, std::min(rows_at_once, rows - first));
      first += rows_at_once;
    } while (first < rows);
  }

  at::Tensor call(const Tensors& tensors) const {
    const auto middle = tensors.begin() + by_row;
    return function(Tensors(tensors.begin(), middle),
                    Tensors(middle, tensors.end()));
  }
};

struct SumOverPieces : Function<SumOverPieces> {
  static at::Tensor forward(AutogradContext* context, at::TensorList inputs,
                            c10::intrusive_ptr<Pieces> pieces) {
    const Tensors tensors = inputs.vec();
    context->save_for_backward(tensors);
    at::Tensor sum = at::zeros({}, tensors[0].options());
    pieces->for_each(tensors, [&](std::int64_t first, std::int64_t count) {
      Tensors some = tensors;
      for (std::int64_t i = 0; i < pieces->by_row; ++i) {
        some[i] = tensors[i].narrow(0, first, count);
      }
      sum.add_(pieces->call(some));
    });
    context->saved_data["pieces"] = at::IValue::make_capsule(std::move(pieces));
    return sum;
  }

  static Tensors backward(AutogradContext* context, Tensors gradients) {
    const AutocastOff as_written;
    const bool again = at::GradMode::is_enabled();
    const at::AutoGradMode recording(true);
    const auto capsule = context->saved_data["pieces"].toCapsule();
    const auto& pieces = static_cast<const Pieces&>(*capsule);
    const Tensors tensors = context->get_saved_variables();
    // Where gradients' own gradients are wanted, pieces are linked to what they
    // are pieces of.
    const auto leaf = [&](const at::Tensor& tensor, bool wanted) {
      return again ? tensor : tensor.detach().set_requires_grad(wanted);
    };
    std::vector<Tensors> of_pieces(tensors.size());
    Tensors sums(tensors.size());
    pieces.for_each(tensors, [&](std::int64_t first, std::int64_t count) {
      Tensors some, wanted;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const bool is_row = static_cast<std::int64_t>(i) < pieces.by_row;
        const bool needed = tensors[i].requires_grad();
        some.push_back(leaf(
            is_row ? tensors[i].narrow(0, first, count) : tensors[i], needed));
        if (needed) wanted.push_back(some.back());
      }
      const Tensors found = torch::autograd::grad(
          {pieces.call(some)}, wanted, {gradients[0]}, /*retain_graph=*/again,
          /*create_graph=*/again, /*allow_unused=*/true);
      std::size_t next = 0;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (!tensors[i].requires_grad()) continue;
        at::Tensor gradient = found[next++];
        if (!gradient.defined()) gradient = at::zeros_like(some[i]);
        if (static_cast<std::int64_t>(i) < pieces.by_row) {
          of_pieces[i].push_back(gradient);
        } else if (!sums[i].defined()) {
          sums[i] = gradient;
        } else {
          sums[i] = sums[i].add(gradient);
        }
      }
    });
    Tensors result;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!tensors[i].requires_grad()) {
        result.emplace_back();
      } else if (static_cast<std::int64_t>(i) < pieces.by_row) {
        result.push_back(at::cat(of_pieces[i]));
      } else {
        result.push_back(sums[i]);
      }
    }
    result.emplace_back();
    return result;
  }
};

}  // namespace

at::Tensor sum_over_pieces(const Tensors& by_row, const Tensors& shared,
                           std::int64_t rows_at_once, PieceFunction function) {
  auto pieces = c10::make_intrusive<Pieces>();
  pieces->by_row = static_cast<std::int64_t>(by_row.size());
  pieces->rows_at_once = rows_at_once;
  pieces->function = std::move(function);
  Tensors inputs = by_row;
  inputs.insert(inputs.end(), shared.begin(), shared.end());
  return SumOverPieces::apply(at::TensorList(inputs), std::move(pieces));
}

std::int64_t rows_at_once(std::int64_t columns, const at::Tensor& like) {
  return std::max<std::int64_t>(
      1,
      kBytesAtOnce / std::max<std::int64_t>(1, columns * like.element_size()));
}

}  // namespace tally::losses::internal

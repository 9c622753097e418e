#include "tally/metrics/pairwise/pair_tiles.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_cdist_backward.h>
#include <ATen/ops/_cdist_forward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tally/metrics/pairwise/euclidean.h"

namespace tally::internal::pairwise {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Numbers of a tile, and pairs of a tile's side where there are many.
constexpr std::int64_t kTile = 1 << 20;
constexpr std::int64_t kSide = 1 << 10;

// What a pair is worth. `exponent` 0: the product.
struct Worth {
  double exponent;

  at::Tensor of(const at::Tensor& x, const at::Tensor& y) const {
    if (exponent == 0) return x.matmul(y.t());
    if (is_by_products(x)) return euclidean_by_products(x, y);
    return at::_cdist_forward(x, y, exponent, /*compute_mode=*/2);
  }
  // What `gradient` of a tile is for x.
  at::Tensor backward(const at::Tensor& gradient, const at::Tensor& x,
                      const at::Tensor& y, const at::Tensor& tile) const {
    if (exponent == 0) return gradient.matmul(y);
    if (is_by_products(x)) return euclidean_backward(gradient, x, y, tile);
    return at::_cdist_backward(gradient.contiguous(), x, y, exponent,
                               tile.contiguous());
  }

 private:
  bool is_by_products(const at::Tensor& x) const {
    return exponent == 2 && x.size(1) >= kManyColumns;
  }
};

struct Tile {
  std::int64_t row, rows, column, columns;

  at::Tensor rows_of(const at::Tensor& x) const {
    return x.narrow(0, row, rows);
  }
  at::Tensor columns_of(const at::Tensor& y) const {
    return y.narrow(0, column, columns);
  }
  // The values of x[i] and y[i].
  at::Tensor diagonal_of(const at::Tensor& values) const {
    return values.diagonal(row - column);
  }
};

// Tiles of [rows, columns], the same whatever the number of threads.
template <class Visit>
void for_each_tile(std::int64_t rows, std::int64_t columns,
                   const Visit& visit) {
  const std::int64_t width = std::min(columns, std::max(kSide, kTile / kSide));
  if (width == 0) return;
  const std::int64_t height = std::max<std::int64_t>(kTile / width, 1);
  for (std::int64_t row = 0; row < rows; row += height) {
    for (std::int64_t column = 0; column < columns; column += width) {
      visit(Tile{row, std::min(height, rows - row), column,
                 std::min(width, columns - column)});
    }
  }
}

struct OverPairs : Function<OverPairs> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& y, double exponent,
                            std::int64_t reduction, bool zero_diagonal,
                            at::ScalarType dtype) {
    context->save_for_backward({x, y});
    context->saved_data["exponent"] = exponent;
    context->saved_data["reduction"] = reduction;
    context->saved_data["zero_diagonal"] = zero_diagonal;
    const at::Tensor wide_x = x.to(at::kDouble), wide_y = y.to(at::kDouble);
    const std::int64_t rows = x.size(0), columns = y.size(0);
    const auto how = static_cast<PairReduction>(reduction);
    const bool reduces = how != PairReduction::kNone;
    at::Tensor result =
        reduces ? at::zeros({rows}, wide_x.options())
                : at::empty({rows, columns}, x.options().dtype(dtype));
    for_each_tile(rows, columns, [&](const Tile& tile) {
      const at::Tensor values =
          Worth{exponent}.of(tile.rows_of(wide_x), tile.columns_of(wide_y));
      if (zero_diagonal) tile.diagonal_of(values).zero_();
      if (reduces) {
        tile.rows_of(result).add_(values.sum(1));
      } else {
        tile.rows_of(result).narrow(1, tile.column, tile.columns).copy_(values);
      }
    });
    if (how == PairReduction::kMean) {
      result.div_(static_cast<double>(columns));
    }
    return result.to(dtype);
  }

  static variable_list backward(AutogradContext* context,
                                variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(),
                "gradients of pairwise distances, and of reduced "
                "similarities, have no gradient of their own (create_graph)");
    const variable_list saved = context->get_saved_variables();
    const at::Tensor x = saved[0].to(at::kDouble);
    const at::Tensor y = saved[1].to(at::kDouble);
    const Worth worth{context->saved_data["exponent"].toDouble()};
    const auto how =
        static_cast<PairReduction>(context->saved_data["reduction"].toInt());
    const bool zero_diagonal = context->saved_data["zero_diagonal"].toBool();
    const std::int64_t rows = x.size(0), columns = y.size(0);
    at::Tensor gradient = gradients[0];
    if (how != PairReduction::kNone) {
      gradient = gradient.to(at::kDouble).unsqueeze(1);
      if (how == PairReduction::kMean) {
        gradient = gradient.div(static_cast<double>(columns));
      }
      gradient = gradient.expand({rows, columns});
    }
    const bool needs_x = context->needs_input_grad(0);
    const bool needs_y = context->needs_input_grad(1);
    at::Tensor of_x = at::zeros(x.sizes(), x.options());
    at::Tensor of_y = at::zeros(y.sizes(), y.options());
    for_each_tile(rows, columns, [&](const Tile& tile) {
      const at::Tensor some_x = tile.rows_of(x), some_y = tile.columns_of(y);
      const at::Tensor values = worth.of(some_x, some_y);
      at::Tensor part = tile.rows_of(gradient)
                            .narrow(1, tile.column, tile.columns)
                            .to(at::kDouble);
      if (zero_diagonal) {
        part = part.clone();
        tile.diagonal_of(part).zero_();
      }
      if (needs_x) {
        tile.rows_of(of_x).add_(worth.backward(part, some_x, some_y, values));
      }
      if (needs_y) {
        tile.columns_of(of_y).add_(
            worth.backward(part.t(), some_y, some_x, values.t()));
      }
    });
    const auto given = [](const at::Tensor& sum, const at::Tensor& input,
                          bool needed) {
      return needed ? sum.to(input.scalar_type()) : at::Tensor();
    };
    return {given(of_x, saved[0], needs_x),
            given(of_y, saved[1], needs_y),
            at::Tensor(),
            at::Tensor(),
            at::Tensor(),
            at::Tensor()};
  }
};

at::Tensor over_pairs(const Pairs& pairs, double exponent) {
  return OverPairs::apply(pairs.x, pairs.y, exponent,
                          static_cast<std::int64_t>(pairs.reduction),
                          pairs.zero_diagonal, pairs.dtype);
}

}  // namespace

at::Tensor distances(const Pairs& pairs, double exponent) {
  return over_pairs(pairs, exponent);
}

at::Tensor products(const Pairs& pairs) { return over_pairs(pairs, 0); }

}  // namespace tally::internal::pairwise

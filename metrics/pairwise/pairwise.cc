#include "tally/metrics/pairwise/pairwise.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_cdist_backward.h>
#include <ATen/ops/_cdist_forward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tally/metrics/common/checks.h"

namespace tally {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// From how many columns on products of matrices are faster.
constexpr std::int64_t kManyColumns = 64;
// Squares of less than this part of those from the common point are of near
// pairs.
constexpr double kNear = 0.1;
// Where more than one of so many pairs is near, all are taken by differences.
constexpr std::int64_t kFew = 8;
// So many numbers of differences at a time.
constexpr std::int64_t kNumbers = 1 << 20;

// Rows from the first of x.
struct Centered {
  Centered(const at::Tensor& of_x, const at::Tensor& of_y)
      : x(of_x.sub(of_x.narrow(0, 0, 1))),
        y(of_y.sub(of_x.narrow(0, 0, 1))),
        squares(x.square()
                    .sum(at::IntArrayRef{1}, /*keepdim=*/true)
                    .add(y.square().sum(at::IntArrayRef{1}))) {}

  // Those that are NaN are near, too, and so are equal ones.
  at::Tensor near(const at::Tensor& squared_distances) const {
    return squared_distances.gt(squares.mul(kNear)).logical_not();
  }

  at::Tensor x, y;
  at::Tensor squares;  // of both rows of each pair
};

bool are_few(const at::Tensor& near) {
  return near.sum().item().toLong() * kFew <= near.numel();
}

// Calls visit(rows of x, rows of y) for the near pairs, some at a time.
template <class Visit>
void for_each_near(const at::Tensor& near, std::int64_t columns,
                   const Visit& visit) {
  const at::Tensor places = near.nonzero();
  const std::int64_t some = std::max<std::int64_t>(kNumbers / columns, 1);
  for (std::int64_t i = 0; i < places.size(0); i += some) {
    const at::Tensor part =
        places.narrow(0, i, std::min(some, places.size(0) - i));
    visit(part.select(1, 0), part.select(1, 1));
  }
}

at::Tensor differences(const at::Tensor& x, const at::Tensor& y,
                       const at::Tensor& of_x, const at::Tensor& of_y) {
  return x.index_select(0, of_x).sub_(y.index_select(0, of_y));
}

// Where pairs are in a matrix of all, row by row.
at::Tensor in_line(const at::Tensor& of_x, const at::Tensor& of_y,
                   std::int64_t rows_of_y) {
  return of_x.mul(rows_of_y).add_(of_y);
}

// Euclidean distances of all rows of x and y, float64, by products of matrices,
// which for rows of many columns takes a fraction of the time that differences
// take. Rows are taken from the first of x, and pairs that are much nearer to
// each other than to that by their differences, so that nothing cancels.
at::Tensor euclidean_by_products(const at::Tensor& x, const at::Tensor& y) {
  const Centered centered(x, y);
  at::Tensor squares =
      centered.squares.sub(centered.x.matmul(centered.y.t()).mul_(2));
  const at::Tensor near = centered.near(squares);
  if (!are_few(near)) return at::_cdist_forward(x, y, 2, /*compute_mode=*/2);
  for_each_near(near, x.size(1),
                [&](const at::Tensor& of_x, const at::Tensor& of_y) {
                  squares.view({-1}).index_copy_(
                      0, in_line(of_x, of_y, y.size(0)),
                      differences(x, y, of_x, of_y).square_().sum(1));
                });
  return squares.sqrt_();
}

// What `gradient` of these distances is for x; 0 at distance 0.
at::Tensor euclidean_backward(const at::Tensor& gradient, const at::Tensor& x,
                              const at::Tensor& y,
                              const at::Tensor& distances) {
  const Centered centered(x, y);
  const at::Tensor near = centered.near(distances.square());
  if (!are_few(near)) {
    return at::_cdist_backward(gradient.contiguous(), x, y, 2,
                               distances.contiguous());
  }
  const at::Tensor slopes = gradient.div(distances).masked_fill_(near, 0);
  at::Tensor result =
      centered.x.mul(slopes.sum(at::IntArrayRef{1}, /*keepdim=*/true))
          .sub_(slopes.matmul(centered.y));
  for_each_near(
      near, x.size(1), [&](const at::Tensor& of_x, const at::Tensor& of_y) {
        const at::Tensor places = in_line(of_x, of_y, y.size(0));
        const auto at_places = [&](const at::Tensor& of) {
          return of.reshape({-1}).index_select(0, places);
        };
        const at::Tensor lengths = at_places(distances);
        const at::Tensor slope =
            at_places(gradient).div_(lengths).masked_fill_(lengths.eq(0), 0);
        result.index_add_(
            0, of_x, differences(x, y, of_x, of_y).mul_(slope.unsqueeze(1)));
      });
  return result;
}

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

// Checked inputs of a pairwise function.
struct Pairs {
  at::Tensor x;  // [N, D]
  at::Tensor y;  // [M, D]
  PairReduction reduction;
  bool zero_diagonal;
  at::ScalarType dtype;  // of the result
};

// Minkowski distances, a tile of pairs at a time; of exponent 0 products.
at::Tensor over_pairs(const Pairs& pairs, double exponent) {
  return OverPairs::apply(pairs.x, pairs.y, exponent,
                          static_cast<std::int64_t>(pairs.reduction),
                          pairs.zero_diagonal, pairs.dtype);
}

at::ScalarType floating(at::ScalarType type) {
  return at::isFloatingType(type) ? type : at::kDouble;
}

Pairs pairs_of(const at::Tensor& x, const at::Tensor& y,
               const PairwiseOptions& options) {
  internal::check_real("x", x);
  TORCH_CHECK_VALUE(x.dim() == 2, "expected x of shape [N, D], got ",
                    x.sizes());
  Pairs pairs{x, x, options.reduction(), options.zero_diagonal().value_or(true),
              floating(x.scalar_type())};
  if (!y.defined()) return pairs;
  internal::check_real("y", y);
  internal::check_same_device("x", x, "y", y);
  TORCH_CHECK_VALUE(y.dim() == 2 && y.size(1) == x.size(1),
                    "expected y of shape [M, ", x.size(1),
                    "], with as many columns as x, got ", y.sizes());
  pairs.y = y;
  pairs.zero_diagonal = options.zero_diagonal().value_or(false);
  pairs.dtype = floating(c10::promoteTypes(x.scalar_type(), y.scalar_type()));
  return pairs;
}

// In what matrices are multiplied.
at::ScalarType factor_type(at::ScalarType result) {
  return result == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor unit_rows(const at::Tensor& rows, at::ScalarType dtype) {
  if (rows.size(1) == 0) return rows.to(dtype);
  const at::Tensor wide = rows.to(at::kDouble);
  const at::Tensor largest =
      wide.detach().abs().amax(at::IntArrayRef{1}, /*keepdim=*/true);
  const at::Tensor is_zero = largest.eq(0);
  // Squares of what is near 1 neither overflow nor vanish.
  const at::Tensor scaled = wide.div(largest.masked_fill(is_zero, 1));
  const at::Tensor length = scaled.square()
                                .sum(at::IntArrayRef{1}, /*keepdim=*/true)
                                .masked_fill(is_zero, 1)
                                .sqrt();
  return scaled.div(length).masked_fill(is_zero, 0).to(dtype);
}

at::Tensor linear(const Pairs& pairs) {
  const at::ScalarType dtype = factor_type(pairs.dtype);
  if (pairs.reduction != PairReduction::kNone) {
    return over_pairs(pairs, 0);
  }
  at::Tensor result = pairs.x.to(dtype).matmul(pairs.y.to(dtype).t());
  if (pairs.zero_diagonal) result.diagonal().zero_();
  return result.to(pairs.dtype);
}

}  // namespace

at::Tensor pairwise_cosine_similarity(const at::Tensor& x, const at::Tensor& y,
                                      const PairwiseOptions& options) {
  Pairs pairs = pairs_of(x, y, options);
  const at::ScalarType dtype = factor_type(pairs.dtype);
  pairs.x = unit_rows(pairs.x, dtype);
  pairs.y = y.defined() ? unit_rows(pairs.y, dtype) : pairs.x;
  return linear(pairs);
}

at::Tensor pairwise_linear_similarity(const at::Tensor& x, const at::Tensor& y,
                                      const PairwiseOptions& options) {
  return linear(pairs_of(x, y, options));
}

at::Tensor pairwise_euclidean_distance(const at::Tensor& x, const at::Tensor& y,
                                       const PairwiseOptions& options) {
  return over_pairs(pairs_of(x, y, options), 2);
}

at::Tensor pairwise_manhattan_distance(const at::Tensor& x, const at::Tensor& y,
                                       const PairwiseOptions& options) {
  return over_pairs(pairs_of(x, y, options), 1);
}

at::Tensor pairwise_minkowski_distance(const at::Tensor& x, const at::Tensor& y,
                                       double exponent,
                                       const PairwiseOptions& options) {
  TORCH_CHECK_VALUE(exponent >= 1, "expected an exponent of at least 1, got ",
                    exponent);
  return over_pairs(pairs_of(x, y, options), exponent);
}

}  // namespace tally

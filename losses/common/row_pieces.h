#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tally::losses::internal {

using Tensors = std::vector<at::Tensor>;

/// Computes one number from some rows of `by_row` and all of `shared`.
using PieceFunction =
    std::function<at::Tensor(const Tensors& by_row, const Tensors& shared)>;

/// The sum of `function` over pieces of at most `rows_at_once` rows.
/// Intermediate results are kept for one piece at a time, and recomputed in the
/// backward pass. Second-order gradients are supported. `function` must not use
/// tensors with a graph other than its arguments.
///
/// Without rows the result is 0; it has a graph if a tensor has one.
at::Tensor sum_over_pieces(const Tensors& by_row, const Tensors& shared,
                           std::int64_t rows_at_once, PieceFunction function);

/// The number of rows of a matrix with this number of columns that take 16 MB.
std::int64_t rows_at_once(std::int64_t columns, const at::Tensor& like);

}  // namespace tally::losses::internal

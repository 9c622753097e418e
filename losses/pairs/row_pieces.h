#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tally::losses::internal {

using Tensors = std::vector<at::Tensor>;

/// One number for some rows of `by_row` and all of `shared`.
using PieceFunction =
    std::function<at::Tensor(const Tensors& by_row, const Tensors& shared)>;

/// The sum of `function` over pieces of the rows, at most `rows_at_once` each.
/// What a piece needs beside its inputs is there for one piece at a time: it is
/// computed again in the backward pass. Gradients of gradients flow. `function`
/// must use no tensors with a graph but its arguments.
///
/// Without rows the result is 0; it has a graph if a tensor has one.
at::Tensor sum_over_pieces(const Tensors& by_row, const Tensors& shared,
                           std::int64_t rows_at_once, PieceFunction function);

/// How many rows of a matrix with so many columns make 16 MB.
std::int64_t rows_at_once(std::int64_t columns, const at::Tensor& like);

}  // namespace tally::losses::internal

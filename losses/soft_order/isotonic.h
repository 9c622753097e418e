#pragma once

#include <ATen/core/Tensor.h>

namespace tally::losses::internal {

/// The blocks of places in which an isotonic regression is constant.
struct IsotonicBlocks {
  at::Tensor of_place;  ///< [B * n], int64: ascending over all rows
  at::Tensor sizes;     ///< [blocks], int64
};

/// Of min sum_i (v_i - (s_i - w_i))^2 over v_1 >= ... >= v_n for each row of s
/// and w, [B, n] in float64 and descending.
IsotonicBlocks quadratic_blocks(const at::Tensor& s, const at::Tensor& w);

/// Of min sum_i exp(s_i - v_i) + exp(w_i) v_i.
IsotonicBlocks entropic_blocks(const at::Tensor& s, const at::Tensor& w);

/// The places of each row's values in descending order, equal ones by index:
/// [B, n], int64, on the CPU.
at::Tensor descending_order(const at::Tensor& values);

}  // namespace tally::losses::internal

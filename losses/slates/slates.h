#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>

#include "tally/sync/agree.h"

namespace tally::losses::internal::slates {

/// Scores and grades of slates, [B, L], of one floating dtype.
struct Slates {
  at::Tensor scores, grades;
  at::Tensor items;  ///< where there is one; elsewhere grades are 0
};

/// Of preds and target [B, L]. Throws c10::ValueError, naming the loss, for
/// other inputs and for grades that are not finite, or below 0 unless
/// `any_grade`.
Slates checked_slates(const char* loss, const at::Tensor& preds,
                      const at::Tensor& target, double padding, bool any_grade);

/// A sum over this rank's slates, and what it is divided by.
struct Part {
  at::Tensor sum;    ///< with a graph
  at::Tensor count;  ///< without
};

using PartOf =
    c10::function_ref<Part(const at::Tensor& preds, const at::Tensor& target)>;

/// The sum over the slates of all ranks, divided by their count. With `query`,
/// preds and target are items [N], gathered into slates by query.
at::Tensor loss_of_slates(const sync::Call& call, double padding,
                          const at::Tensor& preds, const at::Tensor& target,
                          const at::Tensor& query, PartOf part_of);

/// 2^grade - 1.
at::Tensor gains_of(const at::Tensor& grades);
/// log2(1 + position) of positions 1 to `items`.
at::Tensor discounts(std::int64_t items, const at::Tensor& like);
/// The largest DCG of a slate's first k items, [B].
at::Tensor ideal_dcg(const at::Tensor& grades, std::int64_t k);
/// 1 instead of 0.
at::Tensor or_one(const at::Tensor& divisor);
/// x_i - x_j, [B, L, L].
at::Tensor differences(const at::Tensor& x);
/// Whether items i and j both are, [B, L, L].
at::Tensor of_both(const at::Tensor& items);

/// Throws c10::ValueError for an option that is not finite and above 0.
void check_above_0(const char* loss, const char* option, double value);

}  // namespace tally::losses::internal::slates

#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// This rank's tokens that count, and those of the others.
struct TokenBatch {
  at::Tensor x;                      ///< [n, d] with a graph; all tokens
  at::Tensor rows;                   ///< those that count; undefined for all
  at::Tensor tokens;                 ///< those, without a graph
  std::vector<std::int64_t> counts;  ///< of every rank
  std::int64_t first = 0;            ///< of this rank's, among all
  std::int64_t total = 0;

  at::Tensor counting(const at::Tensor& of_all) const {
    return rows.defined() ? of_all.index_select(0, rows) : of_all;
  }
};

/// Agrees with the other ranks on who has how many tokens. `prepare` gives them
/// and which of them count ([n] bool, or undefined); what it throws reaches all
/// ranks. `schema` is what else they must have in common.
TokenBatch agreed_batch(
    const sync::Call& call, std::string schema,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> prepare);

at::Tensor sum_over_ranks(const sync::Call& call, const at::Tensor& own);

/// `all`, the sum of the ranks' `own` that this call's losses are computed
/// from, the same on every rank: so is its gradient, and backward communicates
/// nothing. What is computed from gradients differs by rank: in a backward pass
/// under create_graph and in those that follow it, backward is one all_reduce,
/// of every rank.
at::Tensor replicated_sum(const sync::Call& call, const at::Tensor& own,
                          const at::Tensor& all);

/// The tokens with these numbers, counted over all ranks, on every rank.
at::Tensor tokens_at(const sync::Call& call, const TokenBatch& batch,
                     const at::Tensor& numbers);

/// Of a tensor's bytes, the same on every machine; for the eye.
std::string checksum(const at::Tensor& tensor);

}  // namespace tally::losses::internal

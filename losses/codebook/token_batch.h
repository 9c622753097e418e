#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// This rank's selected tokens, and the counts of all ranks.
struct TokenBatch {
  at::Tensor x;                      ///< [n, d] with a graph; all tokens
  at::Tensor rows;                   ///< selected rows; undefined for all
  at::Tensor tokens;                 ///< the selected ones, without a graph
  std::vector<std::int64_t> counts;  ///< of every rank
  std::int64_t first = 0;            ///< global index of this rank's first
  std::int64_t total = 0;

  at::Tensor counting(const at::Tensor& of_all) const {
    return rows.defined() ? of_all.index_select(0, rows) : of_all;
  }
};

/// Exchanges the number of tokens with the other ranks. `prepare` returns the
/// tokens and the selection ([n] bool, or undefined); its exceptions reach all
/// ranks. `schema` must be equal on all ranks.
TokenBatch agreed_batch(
    const sync::Call& call, std::string schema,
    c10::function_ref<std::pair<at::Tensor, at::Tensor>()> prepare);

at::Tensor sum_over_ranks(const sync::Call& call, const at::Tensor& own);

/// Returns `all`, the sum of the ranks' `own` from which this call's losses are
/// computed, the same on every rank: so is its gradient, and backward
/// communicates nothing. Values computed from gradients differ between ranks:
/// in a backward pass under create_graph and in later ones, backward is one
/// all_reduce over all ranks.
at::Tensor replicated_sum(const sync::Call& call, const at::Tensor& own,
                          const at::Tensor& all);

/// The tokens with these global indices, on every rank.
at::Tensor tokens_at(const sync::Call& call, const TokenBatch& batch,
                     const at::Tensor& numbers);

/// A checksum of a tensor's bytes, the same on every machine; for messages.
std::string checksum(const at::Tensor& tensor);

}  // namespace tally::losses::internal

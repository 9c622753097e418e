#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tally/losses/common/ring.h"
#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// Scores of this rank's samples and their labels.
struct ScoredLabels {
  at::Tensor scores;    ///< [n], float64, with the graph of preds
  at::Tensor positive;  ///< [n], bool
  at::Tensor is, isnt;  ///< the samples of either label: indices
  at::Tensor query;     ///< [n], int64; undefined for one query
  at::ScalarType result_dtype;

  at::Tensor positives() const { return scores.index_select(0, is); }
  at::Tensor negatives() const { return scores.index_select(0, isnt); }
};

/// Throws c10::ValueError unless preds are floating-point scores, and target 0
/// or 1 for each, in integers or bool; query, if defined, an integer for each.
ScoredLabels scored_labels(const std::string& loss, const at::Tensor& preds,
                           const at::Tensor& target,
                           const at::Tensor& query = {});

/// The same, as int64 and flat. Undefined if undefined.
at::Tensor checked_query(const std::string& loss, const at::Tensor& preds,
                         const at::Tensor& query);

/// How many samples of either label the ranks have.
struct LabelAgreement {
  RankRows positives, negatives;
};
LabelAgreement agree_on_labels(const sync::Call& call,
                               c10::function_ref<ScoredLabels()> prepare,
                               ScoredLabels& own);

/// The loss of samples without any pair: 0, with zero gradients.
at::Tensor loss_without_pairs(const sync::Call& call, const ScoredLabels& own);

}  // namespace tally::losses::internal

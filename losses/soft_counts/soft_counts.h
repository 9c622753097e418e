#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tally/losses/soft_counts/soft_counts_kernels.h"
#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// Scores and labels of this rank.
struct SoftCountsInput {
  at::Tensor preds;   ///< [N, C, P], float32 or float64
  at::Tensor target;  ///< [N, P] of classes, or [N, C, P] of labels
  Activation activation;
  bool soft_labels;  ///< min(p, y) instead of p * y; alike for classes
  bool by_sample;    ///< a group for each sample, otherwise one for all
  std::optional<std::int64_t> ignore_index;

  bool index() const { return target.dim() == 2; }
};

/// The sums over positions of p * y, p, y and 1 for each class: [groups,
/// kSoftCounts, C], float64, with a graph if preds have one.
///
/// On the CPU, backward recomputes the probabilities: besides the gradient, no
/// memory of the size of the input is used. Second-order gradients are
/// supported. Results do not depend on the number of threads. Throws
/// c10::ValueError for targets other than classes, labels in [0, 1] and
/// `ignore_index`.
at::Tensor soft_counts(const sync::Call& call, const SoftCountsInput& input);

}  // namespace tally::losses::internal

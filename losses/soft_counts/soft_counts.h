#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "tally/losses/common/labeled_positions.h"
#include "tally/losses/soft_counts/soft_counts_kernels.h"
#include "tally/sync/agree.h"

namespace tally::losses::internal {

/// Scores and labels of this rank.
struct SoftCountsInput : LabeledPositions {
  Activation activation;
  bool soft_labels;  ///< min(p, y) instead of p * y; alike for classes
  bool by_sample;    ///< a group for each sample, otherwise one for all
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

/// The same on the CPU, without a graph.
at::Tensor plain_soft_counts(const std::string& loss,
                             const SoftCountsInput& input);

/// The gradient of preds, given that of the counts. REQUIRES: on the CPU.
at::Tensor soft_counts_gradient(const SoftCountsInput& input,
                                const at::Tensor& of_counts);

/// The same as soft_counts(), by LibTorch's functions.
at::Tensor composite_soft_counts(const SoftCountsInput& input);

}  // namespace tally::losses::internal

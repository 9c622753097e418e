#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tally::losses::internal {

/// Scores of this rank's samples and their labels.
struct LabeledPositions {
  at::Tensor preds;   ///< [N, C, P], float32 or float64
  at::Tensor target;  ///< [N, P] of classes, or [N, C, P] of labels
  std::optional<std::int64_t> ignore_index;

  bool index() const { return target.dim() == 2; }
};

/// Throws c10::ValueError for this label.
[[noreturn]] void refuse_label(const std::string& loss,
                               const LabeledPositions& input, double value);

/// The same for the first that is no class, and not in [0, 1] or ignored; by
/// LibTorch's functions.
void check_label_values(const std::string& loss, const LabeledPositions& input);

}  // namespace tally::losses::internal

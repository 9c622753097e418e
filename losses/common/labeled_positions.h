#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace tally::losses::internal {

/// Scores of this rank's samples and their labels: tensors that are contiguous,
/// or of the dimensions that are named.
struct LabeledPositions {
  at::Tensor preds;   ///< [samples, classes, positions], float32 or float64
  at::Tensor target;  ///< [samples, positions] of classes, or as preds
  std::int64_t samples, classes, positions;
  bool index;  ///< whether target is of classes
  std::optional<std::int64_t> ignore_index;
};

/// Throws c10::ValueError for this label.
[[noreturn]] void refuse_label(std::string_view loss,
                               const LabeledPositions& input, double value);

/// The same for the first that is no class, and not in [0, 1] or ignored; by
/// LibTorch's functions.
void check_label_values(std::string_view loss, const LabeledPositions& input);

}  // namespace tally::losses::internal

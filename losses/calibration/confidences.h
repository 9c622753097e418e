#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "tally/losses/common/label_inputs.h"
#include "tally/metrics/score_kind.h"

namespace tally::losses::internal {

/// Of each sample, in float32 or wider, [n]: with kMulticlass the largest
/// probability and whether its class is the target, with kBinary the
/// probability and the label.
struct Confidences {
  at::Tensor confidence;  ///< with the graph of preds
  at::Tensor accuracy;    ///< 0 or 1
};

/// Throws c10::ValueError unless target has classes for preds.
Confidences confidences_of(const std::string& loss, LabelMode mode,
                           ScoreKind input, const at::Tensor& preds,
                           const at::Tensor& target);

/// Throws c10::ValueError unless confidences_of() takes these options.
void check_confidence_options(const std::string& loss, LabelMode mode,
                              ScoreKind input);

}  // namespace tally::losses::internal

#pragma once

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>

#include <optional>

namespace tally::internal {

/// While one lives, tensors are made as outside inference mode: they can be
/// written to, and be part of a graph, when it has ended. For whatever outlives
/// a call. No more gradients are recorded than before.
class OutsideInference {
 public:
  OutsideInference() {
    if (c10::InferenceMode::is_enabled()) left_.emplace();
  }

 private:
  struct Left {
    Left() : off(false) {}
    c10::InferenceMode off;
    // Without inference mode gradients would be recorded.
    at::NoGradGuard no_grad;
  };
  std::optional<Left> left_;
};

}  // namespace tally::internal

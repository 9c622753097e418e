#pragma once

#include <ATen/core/grad_mode.h>
#include <c10/core/AutogradState.h>
#include <c10/core/InferenceMode.h>

#include <optional>

namespace tally::internal {

/// Disables inference mode for its lifetime, so that tensors created then can
/// be modified and used in autograd afterwards. Used for tensors that outlive a
/// call. Does not enable the recording of gradients.
class OutsideInference {
 public:
  OutsideInference() {
    // InferenceMode::is_enabled() is this with another call.
    if (c10::AutogradState::get_tls_state().get_inference_mode()) {
      left_.emplace();
    }
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

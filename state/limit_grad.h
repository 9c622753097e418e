#pragma once

#include <c10/core/AutogradState.h>

namespace tally::internal {

/// Where gradients are recorded, records them during its lifetime only if
/// `allowed`. As at::AutoGradMode, but it looks up the thread's state once: the
/// update of a small batch is that short.
class LimitGrad {
 public:
  explicit LimitGrad(bool allowed)
      : state_(c10::AutogradState::get_tls_state()),
        before_(state_.get_grad_mode()) {
    state_.set_grad_mode(before_ && allowed);
  }
  ~LimitGrad() { state_.set_grad_mode(before_); }
  LimitGrad(const LimitGrad&) = delete;
  LimitGrad& operator=(const LimitGrad&) = delete;

 private:
  c10::AutogradState& state_;
  bool before_;
};

}  // namespace tally::internal

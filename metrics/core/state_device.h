#pragma once

#include <c10/core/Device.h>

#include <optional>

namespace tally::internal {

/// Where a state is, and with it the values of its metrics.
class StateDevice {
 public:
  /// That of the inputs of the last batch or, if there was none, of to(). None:
  /// values are where they are computed.
  std::optional<c10::Device> current() const { return current_; }
  std::optional<c10::Device> given() const { return given_; }

  /// Whether inputs on this device, or on none, can be added to the state: it
  /// follows them from the CPU, but not back.
  bool takes(std::optional<c10::Device> inputs) const {
    return !current_ || current_->is_cpu() || !inputs || inputs == current_;
  }
  void note_inputs(std::optional<c10::Device> inputs) {
    if (inputs) current_ = inputs;
  }
  /// Of to(), which outlasts what is reset or replaced.
  void give(c10::Device device) { current_ = given_ = device; }
  /// The state is another, on this device, if it is known.
  void replace(std::optional<c10::Device> device = {}) {
    current_ = given_ ? given_ : device;
  }

 private:
  std::optional<c10::Device> current_;
  std::optional<c10::Device> given_;
};

}  // namespace tally::internal

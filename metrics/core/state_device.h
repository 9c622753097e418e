#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "tally/metrics/core/maybe_device.h"

namespace tally::internal {

/// Where a state is, and with it the values of its metrics.
class StateDevice {
 public:
  /// That of the inputs of the last batch or, if there was none, of to(). None:
  /// values are where they are computed.
  std::optional<c10::Device> current() const { return current_.get(); }
  std::optional<c10::Device> given() const { return given_.get(); }

  /// Whether inputs on this device, or on none, can be added to the state: it
  /// follows them from the CPU, but not back.
  bool takes(MaybeDevice inputs) const {
    return !current_.is_beside_cpu() || !inputs.is_known() ||
           inputs == current_;
  }
  void note_inputs(MaybeDevice inputs) {
    if (inputs.is_known()) current_ = inputs;
  }
  /// Of to(), which outlasts what is reset or replaced.
  void give(c10::Device device) { current_ = given_ = device; }
  /// The state is another, on this device, if it is known.
  void replace(MaybeDevice device = {}) {
    current_ = given_.is_known() ? given_ : device;
  }

 private:
  MaybeDevice current_;
  MaybeDevice given_;
};

}  // namespace tally::internal

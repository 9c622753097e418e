#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace tally::internal {

/// A device, or none, as one number: every metric compares it for each batch.
class MaybeDevice {
 public:
  MaybeDevice() = default;
  MaybeDevice(std::nullopt_t) {}
  MaybeDevice(c10::Device device) : code_(code_of(device)) {}
  MaybeDevice(std::optional<c10::Device> device)
      : code_(device ? code_of(*device) : kNone) {}
  static MaybeDevice cpu() {
    MaybeDevice device;
    device.code_ = kCpu;
    return device;
  }

  bool is_known() const { return code_ != kNone; }
  bool is_beside_cpu() const { return code_ > kCpu; }
  std::optional<c10::Device> get() const {
    if (code_ == kNone) return std::nullopt;
    if (code_ == kCpu) return c10::Device(c10::kCPU);
    return c10::Device(static_cast<c10::DeviceType>(code_ >> 8),
                       static_cast<c10::DeviceIndex>(code_ & 0xff));
  }

  friend bool operator==(MaybeDevice a, MaybeDevice b) {
    return a.code_ == b.code_;
  }
  friend bool operator!=(MaybeDevice a, MaybeDevice b) { return !(a == b); }

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::int32_t kCpu = 0;

  static std::int32_t code_of(c10::Device device) {
    return device.is_cpu() ? kCpu
                           : static_cast<std::int32_t>(device.type()) << 8 |
                                 static_cast<std::uint8_t>(device.index());
  }

  std::int32_t code_ = kNone;
};

}  // namespace tally::internal

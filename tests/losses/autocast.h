#pragma once

#include <ATen/autocast_mode.h>

namespace tally::testkit {

/// Autocast to bfloat16 on the CPU, or none, while it lives.
class Autocast {
 public:
  explicit Autocast(bool on = true) {
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, on);
  }
  ~Autocast() {
    at::autocast::set_autocast_enabled(at::kCPU, before_);
    if (!before_) at::autocast::clear_cache();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const bool before_ = at::autocast::is_autocast_enabled(at::kCPU);
};

}  // namespace tally::testkit

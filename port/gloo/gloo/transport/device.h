#pragma once

namespace gloo::transport {

// Behind pointers alone.
class Device;

class UnboundBuffer {
 public:
  UnboundBuffer() = delete;
  virtual ~UnboundBuffer();
};

}  // namespace gloo::transport

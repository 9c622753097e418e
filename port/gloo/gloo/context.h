#pragma once

#include <chrono>

namespace gloo {

// Only LibTorch makes them and knows their layout: what is declared here are
// functions that it exports and that are not virtual.
class Context {
 public:
  Context() = delete;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void closeConnections();
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo

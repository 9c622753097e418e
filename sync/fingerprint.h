#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace tally::sync {

/// A 64-bit hash (xxHash64), the same on every machine.
std::uint64_t fingerprint(std::string_view text) noexcept;

/// That of a text that comes in pieces.
class Fingerprint {
 public:
  Fingerprint();
  ~Fingerprint();
  Fingerprint(const Fingerprint&) = delete;
  Fingerprint& operator=(const Fingerprint&) = delete;

  void add(std::string_view piece) noexcept;
  /// Of all pieces so far.
  std::uint64_t value() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tally::sync

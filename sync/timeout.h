#pragma once

#include <c10/util/Exception.h>

#include <chrono>
#include <optional>

namespace tally::sync {

/// The time limit of a collective; empty means the communicator's. More than 24
/// days are reduced to 24 days. Constructing a non-positive one throws
/// c10::ValueError, before any rank waits for another.
class Timeout : public std::optional<std::chrono::milliseconds> {
  using Base = std::optional<std::chrono::milliseconds>;

 public:
  Timeout() = default;
  Timeout(std::nullopt_t) {}

  template <class Rep, class Period>
  Timeout(std::chrono::duration<Rep, Period> timeout)
      : Base(in_milliseconds(timeout)) {
    TORCH_CHECK_VALUE(value().count() > 0, "expected a positive timeout, got ",
                      value().count(), " ms");
  }

  friend bool operator==(const Timeout& a, const Timeout& b) {
    return static_cast<const Base&>(a) == static_cast<const Base&>(b);
  }
  friend bool operator!=(const Timeout& a, const Timeout& b) {
    return !(a == b);
  }

 private:
  // The longest timeout if the count of milliseconds would overflow.
  template <class Rep, class Period>
  static std::chrono::milliseconds in_milliseconds(
      std::chrono::duration<Rep, Period> timeout) {
    using std::chrono::milliseconds;
    using Float = std::chrono::duration<double, std::milli>;
    return Float(timeout) >= Float(milliseconds::max())
               ? milliseconds::max()
               : std::chrono::duration_cast<milliseconds>(timeout);
  }
};

}  // namespace tally::sync

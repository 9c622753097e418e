#pragma once

#include <atomic>
#include <cstdint>

#include "tally/state/outside_inference.h"

namespace tally::internal {

/// Who uses an object: any number of readers, or one that changes it.
class InUse {
 public:
  InUse() = default;
  // Each object has users of its own.
  InUse(InUse&&) noexcept {}
  InUse& operator=(InUse&&) noexcept { return *this; }

  /// False where another one uses it.
  bool start_change() noexcept {
    std::int32_t none = 0;
    return users_.compare_exchange_strong(
        none, kChanged, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void end_change() noexcept { users_.store(0, std::memory_order_release); }

  /// False where it is being changed.
  bool start_reading() noexcept {
    std::int32_t readers = users_.load(std::memory_order_relaxed);
    do {
      if (readers == kChanged) return false;
    } while (!users_.compare_exchange_weak(readers, readers + 1,
                                           std::memory_order_acquire,
                                           std::memory_order_relaxed));
    return true;
  }
  void end_reading() noexcept {
    users_.fetch_sub(1, std::memory_order_release);
  }

 private:
  static constexpr std::int32_t kChanged = -1;

  std::atomic<std::int32_t> users_{0};
};

/// Marks an object, which has `in_use()`, for its lifetime; calls its
/// `refuse_concurrent()`, which throws, where another thread is in the way.
/// Leaves inference mode, as states and cached values outlive it.
template <bool (InUse::*kStart)() noexcept, void (InUse::*kEnd)() noexcept>
class Holds {
 public:
  template <class Object>
  explicit Holds(const Object& object) : in_use_(object.in_use()) {
    if (!(in_use_.*kStart)()) object.refuse_concurrent();
  }
  ~Holds() { (in_use_.*kEnd)(); }
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;

 private:
  InUse& in_use_;
  OutsideInference outside_;
};
/// As in use: a second thread gets an error.
using HoldsAlone = Holds<&InUse::start_change, &InUse::end_change>;
/// As being read, which several threads may do at once.
using HoldsToRead = Holds<&InUse::start_reading, &InUse::end_reading>;

}  // namespace tally::internal

#pragma once

#include <chrono>
#include <csignal>
#include <exception>
#include <optional>

#include "tally/sync/errors.h"

namespace tally::testkit {

/// What a rank does before a collective, or in its place; see Rank::inject.
class Fault {
 public:
  /// The rank's process is killed by this signal, without notifying the others.
  /// On threads, the rank immediately leaves its body and its group.
  static Fault kill(int signal = SIGKILL) {
    Fault fault(Kind::kKill);
    fault.signal_ = signal;
    return fault;
  }
  /// The rank's process exits with this code, as by std::_Exit, without
  /// notifying the others. On threads like kill().
  static Fault exit(int code = 0) {
    Fault fault(Kind::kExit);
    fault.code_ = code;
    return fault;
  }
  /// The rank is stopped until another one calls Rank::resume, or until all
  /// others have ended, when it is ended as well.
  static Fault stop() { return Fault(Kind::kStop); }
  /// The rank is delayed.
  static Fault delay(std::chrono::milliseconds time) {
    Fault fault(Kind::kDelay);
    fault.delay_ = time;
    return fault;
  }
  /// The collective throws this on the rank, unknown to the others.
  template <class Error>
  static Fault error(Error error) {
    Fault fault(Kind::kError);
    fault.error_ = std::make_exception_ptr(std::move(error));
    return fault;
  }
  static Fault error(sync::SyncErrorCode code) {
    return error(sync::SyncError(code, "injected by a test", {}));
  }

  enum class Kind { kKill, kExit, kStop, kDelay, kError };
  Kind kind() const noexcept { return kind_; }
  /// For kill().
  int signal() const noexcept { return signal_; }
  /// For exit().
  int code() const noexcept { return code_; }
  /// For delay().
  std::chrono::milliseconds time() const noexcept { return delay_; }
  /// For error().
  const std::exception_ptr& exception() const noexcept { return error_; }

 private:
  explicit Fault(Kind kind) : kind_(kind) {}

  Kind kind_;
  int signal_ = SIGKILL;
  int code_ = 0;
  std::chrono::milliseconds delay_{0};
  std::exception_ptr error_;
};

const char* to_string(Fault::Kind kind) noexcept;

}  // namespace tally::testkit

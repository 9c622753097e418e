#pragma once

#include <chrono>
#include <csignal>
#include <exception>
#include <optional>

#include "tally/sync/errors.h"

namespace tally::testkit {

/// What a rank does instead of a collective, or before it; see Rank::inject.
class Fault {
 public:
  /// The rank's process ends by this signal, without a word to the others. On
  /// threads it leaves its body, and its group, at once.
  static Fault kill(int signal = SIGKILL) {
    Fault fault(Kind::kKill);
    fault.signal_ = signal;
    return fault;
  }
  /// The rank's process ends with this code, as by std::_Exit: a program that
  /// leaves without a word, but not by a signal. On threads as kill().
  static Fault exit(int code = 0) {
    Fault fault(Kind::kExit);
    fault.code_ = code;
    return fault;
  }
  /// The rank stands still until another one calls Rank::resume, or all others
  /// have ended: then it is ended as well.
  static Fault stop() { return Fault(Kind::kStop); }
  /// The rank comes late.
  static Fault delay(std::chrono::milliseconds time) {
    Fault fault(Kind::kDelay);
    fault.delay_ = time;
    return fault;
  }
  /// The collective throws this on the rank. The others know nothing of it.
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
  /// Of kill().
  int signal() const noexcept { return signal_; }
  /// Of exit().
  int code() const noexcept { return code_; }
  /// Of delay().
  std::chrono::milliseconds time() const noexcept { return delay_; }
  /// Of error().
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

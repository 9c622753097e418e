#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace tally::sync {

/// The reason for a failed synchronization. For remedies see docs/errors.md.
enum class SyncErrorCode {
  /// The ranks differ in metric, option, dtype, shape or call. Every rank
  /// throws it; the group remains usable.
  kMismatch,
  /// Another rank failed before it could take part, and reported it. Every
  /// other rank throws it; the group remains usable.
  kPeerFailed,
  /// A rank died or closed its connection. The group is unusable.
  kPeerLost,
  /// A rank did not arrive in time. The group is unusable.
  kTimeout,
  /// The group became unusable in an earlier call; what() repeats the reason.
  kGroupBroken,
  /// The transport failed for another reason.
  kTransport,
  /// The call is invalid in this state: synced twice, used from two threads at
  /// once, or by a process that is not a member of the group.
  kInvalidUse,
};

/// The enumerator's name, for example "kTimeout".
const char* to_string(SyncErrorCode code) noexcept;

/// Details of a failed synchronization. Unknown parts keep their default.
struct SyncErrorDetails {
  std::string metric;          ///< the metric or group of metrics
  std::string state;           ///< the field of its state
  int rank = -1;               ///< this process
  std::vector<int> peers;      ///< the ranks that differ, failed or were lost
  std::int64_t sequence = -1;  ///< number of the exchange on its communicator
  std::string phase;           ///< for example "header", "payload", "backward"
};

/// Every failure of a collective is thrown as this type, whatever the transport
/// threw. `what_without_backtrace()` is a single line with all known details.
class SyncError : public c10::DistError {
 public:
  SyncError(SyncErrorCode code, const std::string& message,
            SyncErrorDetails details);

  SyncErrorCode code() const noexcept { return code_; }
  const SyncErrorDetails& details() const noexcept { return details_; }
  /// The message without the details added by the constructor.
  const std::string& message() const noexcept { return message_; }

 private:
  SyncErrorCode code_;
  std::string message_;
  SyncErrorDetails details_;
};

/// The message of an exception, on one line and without LibTorch's backtrace.
std::string describe(const std::exception& error);
/// The same for anything that was thrown.
std::string describe(const std::exception_ptr& error);

}  // namespace tally::sync

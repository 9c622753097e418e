#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tally::sync::internal {

struct SpawnOptions {
  /// With argv[0].
  std::vector<std::string> arguments;
  /// On top of this process's: "NAME=value" sets, "NAME" removes.
  std::vector<std::string> environment;
  /// What the child gets as standard input, output and error; -1 leaves it
  /// this process's.
  int input = -1;
  int output = -1;
  int error = -1;
};

/// Starts this program again, without fork(): a fork of a process that has run
/// OpenMP code hangs. The child has no signals blocked and SIGPIPE not ignored.
/// Throws c10::Error.
pid_t spawn_self(const SpawnOptions& options);

/// Has the kernel kill this process when the one that started it ends. Ends at
/// once if that has happened already.
void end_with_parent(pid_t parent);

/// What launch_local() tells its ranks: its process, and where they can leave
/// their reasons.
inline constexpr const char* kLauncherVariable = "TALLY_LAUNCHER_PID";
inline constexpr const char* kReasonVariable = "TALLY_REASON";

/// end_with_parent() in a rank of launch_local(); nothing elsewhere, and when
/// called again. Gives what kReasonVariable said, or "". From the first call on
/// both variables are unset: this process is not the launcher's rank in
/// processes that it starts itself.
const std::string& end_with_launcher();

/// A wait status as a shell gives it: 128 + number for a signal.
int exit_status(int wait_status);

}  // namespace tally::sync::internal

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
  /// The child's standard input, output and error; -1 inherits that of this
  /// process.
  int input = -1;
  int output = -1;
  int error = -1;
};

/// Starts this program again, without fork(): a fork of a process that has run
/// OpenMP code hangs. In the child no signals are blocked, and SIGPIPE is not
/// ignored.
/// Throws c10::Error.
pid_t spawn_self(const SpawnOptions& options);

/// Makes the kernel kill this process when its parent ends. Exits immediately
/// if that has already happened.
void end_with_parent(pid_t parent);

/// Variables that launch_local() sets for its ranks: its process, and where
/// they can report their reasons.
inline constexpr const char* kLauncherVariable = "TALLY_LAUNCHER_PID";
inline constexpr const char* kReasonVariable = "TALLY_REASON";

/// end_with_parent() in a rank of launch_local(); no effect elsewhere, and when
/// called again. Returns the value of kReasonVariable, or "". The first call
/// unsets both variables: processes started by this one are not ranks of the
/// launcher.
const std::string& end_with_launcher();

/// Converts a wait status like a shell: 128 + number for a signal.
int exit_status(int wait_status);

}  // namespace tally::sync::internal

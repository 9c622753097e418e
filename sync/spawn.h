#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tally::sync {

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

/// A wait status as a shell gives it: 128 + number for a signal.
int exit_status(int wait_status);

}  // namespace tally::sync

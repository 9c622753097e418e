#include "tally/sync/launch/spawn.h"

#include <c10/util/Exception.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>

namespace tally::sync::internal {
namespace {

std::string name_of(const std::string& assignment) {
  return assignment.substr(0, assignment.find('='));
}

/// This process's environment with the changes, of which the last one to a
/// variable holds.
std::vector<std::string> merged_environment(
    const std::vector<std::string>& changes) {
  std::map<std::string, std::string> by_name;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    by_name.emplace(name_of(*entry), *entry);
  }
  for (const std::string& change : changes) by_name[name_of(change)] = change;
  std::vector<std::string> result;
  for (const auto& [name, entry] : by_name) {
    if (entry.size() > name.size()) result.push_back(entry);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

pid_t spawn_self(const SpawnOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> environment =
      merged_environment(options.environment);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int streams[] = {options.input, options.output, options.error};
  for (int fd = 0; fd < 3; ++fd) {
    if (streams[fd] < 0) continue;
    posix_spawn_file_actions_adddup2(&actions, streams[fd], fd);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", &actions, &attributes,
                  pointers(arguments).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  TORCH_CHECK(error == 0,
              "cannot start this program again: ", std::strerror(error));
  return pid;
}

void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) std::_Exit(128 + SIGKILL);
}

const std::string& end_with_launcher() {
  static const auto& reasons = *new std::string([] {
    const char* launcher = std::getenv(kLauncherVariable);
    if (launcher == nullptr) return std::string();
    end_with_parent(std::atoi(launcher));
    const char* path = std::getenv(kReasonVariable);
    const std::string text = path == nullptr ? "" : path;
    unsetenv(kLauncherVariable);
    unsetenv(kReasonVariable);
    return text;
  }());
  return reasons;
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
                                  : WEXITSTATUS(wait_status);
}

}  // namespace tally::sync::internal

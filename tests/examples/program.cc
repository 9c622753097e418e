#include "tally/tests/examples/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace tally::testkit {
namespace {

using Clock = std::chrono::steady_clock;

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// From /proc/PID/stat, behind the name in parentheses: "S 17 ...".
pid_t parent_of(const std::string& stat) {
  std::istringstream rest(stat.substr(stat.rfind(')') + 1));
  std::string state;
  pid_t parent = -1;
  rest >> state >> parent;
  return parent;
}

/// Without those about connected ranks that the Gloo of LibTorch 2.10 prints.
std::string without_lines_of_gloo(const std::string& output) {
  std::string kept;
  for (std::size_t begin = 0, end; begin < output.size(); begin = end) {
    end = std::min(output.find('\n', begin), output.size() - 1) + 1;
    const std::string line = output.substr(begin, end - begin);
    if (line.find("[Gloo] Rank ") == std::string::npos) kept += line;
  }
  return kept;
}

bool sets_variable(const std::string& environment, const std::string& setting) {
  return (std::string(1, '\0') + environment)
             .find(std::string(1, '\0') + setting + '\0') != std::string::npos;
}

}  // namespace

Program::Program(std::vector<std::string> arguments,
                 const std::vector<std::string>& environment,
                 std::chrono::seconds deadline)
    : name_(arguments.front()), deadline_(Clock::now() + deadline) {
  std::vector<std::string> variables = environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
  }
  const auto pointers = [](std::vector<std::string>& strings) {
    std::vector<char*> list;
    for (std::string& string : strings) list.push_back(string.data());
    list.push_back(nullptr);
    return list;
  };

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int writers[2] = {-1, -1};
  for (int i : {0, 1}) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot open a pipe");
    streams_[i] = ends[0];
    writers[i] = ends[1];
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO + i);
  }
  const int error =
      posix_spawn(&pid_, name_.c_str(), &actions, nullptr,
                  pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  for (int writer : writers) close(writer);
  if (error != 0) {
    pid_ = -1;
    fail(std::string("cannot start: ") + std::strerror(error));
  }
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (int stream : streams_) {
    if (stream >= 0) close(stream);
  }
}

bool Program::read_some() {
  // poll() passes over negative descriptors.
  pollfd events[] = {{streams_[0], POLLIN, 0}, {streams_[1], POLLIN, 0}};
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
  if (left.count() <= 0 ||
      poll(events, 2, static_cast<int>(left.count())) == 0) {
    fail("the deadline came");
  }
  for (int i : {0, 1}) {
    if (events[i].revents == 0) continue;
    char buffer[4096];
    const ssize_t count = read(streams_[i], buffer, sizeof buffer);
    if (count > 0) {
      texts_[i].append(buffer, count);
    } else {
      close(streams_[i]);
      streams_[i] = -1;
    }
  }
  return streams_[0] >= 0 || streams_[1] >= 0;
}

void Program::fail(const std::string& what) const {
  throw std::runtime_error(name_ + ": " + what + "\n" + texts_[0] + texts_[1]);
}

void Program::wait_for(const std::string& text, int stream) {
  while (texts_[stream].find(text) == std::string::npos) {
    if (!read_some()) fail("ended without '" + text + "'");
  }
}

Program::Result Program::wait() {
  while (streams_[0] >= 0 || streams_[1] >= 0) read_some();
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
          without_lines_of_gloo(texts_[0]), texts_[1]};
}

void Program::send(int signal) const { kill(pid_, signal); }

pid_t Program::rank(int rank) const {
  const std::string setting = "RANK=" + std::to_string(rank);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || parent_of(contents_of(entry.path() / "stat")) != pid_) {
      continue;
    }
    if (sets_variable(contents_of(entry.path() / "environ"), setting)) {
      return pid;
    }
  }
  fail("has no process with " + setting);
}

Program::Result run_program(std::vector<std::string> arguments,
                            const std::vector<std::string>& environment) {
  return Program(std::move(arguments), environment).wait();
}

std::string promised_by(const std::string& source, const std::string& mark) {
  const std::string indent = mark + "   ";
  std::ifstream file(source);
  std::string block;
  for (std::string line;
       std::getline(file, line) && line.rfind(mark, 0) == 0;) {
    if (line.rfind(indent, 0) == 0) {
      block += line.substr(indent.size()) + "\n";
    } else if (line != mark) {
      block.clear();
    } else if (!block.empty()) {
      block += "\n";
    }
  }
  return block;
}

}  // namespace tally::testkit

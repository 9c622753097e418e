#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace tally::testkit {

/// Another program as a process of its own. What still runs at the deadline, or
/// when this object ends, is killed.
class Program {
 public:
  struct Result {
    int status;  ///< 128 + number for a signal
    std::string output;
    std::string errors;
  };

  /// `arguments` begin with the program's path; `environment` ("NAME=value") is
  /// added to this process's. Throws std::runtime_error if it does not start.
  explicit Program(std::vector<std::string> arguments,
                   const std::vector<std::string>& environment = {},
                   std::chrono::seconds deadline = std::chrono::seconds(120));
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Until it has printed `text`. Throws std::runtime_error if it ends, or the
  /// deadline comes, before.
  void wait_for(const std::string& text) { wait_for(text, 0); }
  /// The same of what it has written to standard error.
  void wait_for_error(const std::string& text) { wait_for(text, 1); }
  /// Until it ends. Throws std::runtime_error at the deadline.
  Result wait();
  void send(int signal) const;
  /// The process that it started with RANK=`rank` in its environment. Throws
  /// std::runtime_error if there is none.
  pid_t rank(int rank) const;

 private:
  void wait_for(const std::string& text, int stream);
  /// Reads what there is to read, once; false when both streams are at their
  /// end.
  bool read_some();
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::chrono::steady_clock::time_point deadline_;
  pid_t pid_ = -1;
  int streams_[2] = {-1, -1};
  std::string texts_[2];
};

/// Starts a program and waits for its end.
Program::Result run_program(std::vector<std::string> arguments,
                            const std::vector<std::string>& environment = {});

/// What the comment that a source begins with says its program prints: the
/// indented lines at its end. `mark` begins a comment's lines.
std::string promised_by(const std::string& source,
                        const std::string& mark = "//");

}  // namespace tally::testkit

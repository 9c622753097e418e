#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tally/testing/internal/messages.h"
#include "tally/testing/internal/report.h"

namespace tally::testkit::internal {

/// A rank's process, as its runner sees it.
class Child {
 public:
  /// Starts it. `folder` is the test's own.
  Child(int rank, int size, const std::string& test, const std::string& folder,
        const std::vector<std::string>& environment);
  /// Kills it if it has not ended.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int rank() const { return rank_; }
  pid_t pid() const { return pid_; }
  int socket() const { return socket_; }

  bool ended() const { return status_.has_value(); }
  bool stopped() const { return stopped_; }
  /// Whether others can no longer wait for it to do anything.
  bool left() const { return done_ || ended(); }
  bool came_to_the_end() const { return done_; }
  bool left_by_fault() const { return expected_status_.has_value(); }
  /// What it waits for, if it does.
  const std::optional<Message>& question() const { return question_; }
  void answer(const Message& message);

  /// Reads what it has said, and waits until something is there. What is for
  /// the runner stays in `said`.
  void listen(std::vector<Message>& said);
  void resume();
  void kill();
  /// Its time is up: asks for its stack, and kills it if it does not answer.
  void end_late();

  /// Whether it waits for a debugger.
  bool holds() const { return holds_; }
  const std::vector<Report>& reports() const { return reports_; }
  /// The reports, and another one if it ended otherwise than expected.
  std::vector<Report> all_reports() const;
  std::string output() const;
  std::string output_path() const;

 private:
  void take(const Message& message, std::vector<Message>& said);
  void wait_until_stopped();
  void reap();
  std::string path(const char* kind) const;
  std::string told_by_output() const;
  Report report(Weight weight, std::string text) const;

  int rank_;
  int size_;
  std::string folder_;
  std::string test_;
  pid_t pid_ = -1;
  int socket_ = -1;
  MessageReader reader_;
  std::vector<Report> reports_;
  std::optional<Message> question_;
  std::optional<int> expected_status_;  // as exit_status() gives it
  std::optional<int> status_;
  bool began_ = false;
  bool other_test_ = false;
  bool done_ = false;
  bool stopped_ = false;
  bool holds_ = false;
  bool late_ = false;
  bool killed_ = false;
  std::string late_text_;
};

}  // namespace tally::testkit::internal

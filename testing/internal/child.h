#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tally/testing/internal/failure_report.h"
#include "tally/testing/internal/messages.h"

namespace tally::testkit::internal {

/// A rank's process, from the runner's point of view.
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
  /// Whether it can no longer do anything that others wait for.
  bool left() const { return done_ || ended(); }
  bool came_to_the_end() const { return done_; }
  bool left_by_fault() const { return expected_status_.has_value(); }
  /// The request it is waiting on, if any.
  const std::optional<Message>& question() const { return question_; }
  void answer(const Message& message);

  /// Waits for messages and reads them. Those for the runner are added to
  /// `said`.
  void listen(std::vector<Message>& said);
  void resume();
  void kill();
  /// At the deadline: requests its stack, and kills it if it does not answer.
  void end_late();

  /// Whether it waits for a debugger.
  bool holds() const { return holds_; }
  const std::vector<Report>& reports() const { return reports_; }
  /// The reports, and an additional one if it ended unexpectedly.
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
  std::optional<int> expected_status_;  // see exit_status()
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

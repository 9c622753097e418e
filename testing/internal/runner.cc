#include "tally/testing/internal/runner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tally/testing/internal/child.h"
#include "tally/testing/internal/flags.h"
#include "tally/testing/internal/folder.h"
#include "tally/testing/internal/protocol.h"

namespace tally::testkit::internal {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

const Clock::time_point kProgramStart = Clock::now();

Clock::time_point deadline_of(const RanksOptions& options) {
  if (flags().hold_rank) return Clock::time_point::max();
  Clock::time_point deadline =
      Clock::now() + flags().deadline.value_or(options.deadline);
  if (const char* text = std::getenv("TEST_TIMEOUT")) {
    const double whole = std::atof(text);
    if (whole > 0) {
      deadline =
          std::min(deadline,
                   kProgramStart + std::chrono::milliseconds(
                                       static_cast<std::int64_t>(900 * whole)));
    }
  }
  return deadline;
}

/// While it lives, signals that ask this program to end arrive at a pipe: what
/// the ranks do then can still be said.
class EndRequests {
 public:
  EndRequests() {
    if (pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw std::runtime_error("cannot open a pipe");
    }
    for (int i = 0; i < 2; ++i) {
      struct sigaction action {};
      action.sa_handler = [](int signal) {
        const char byte = static_cast<char>(signal);
        [[maybe_unused]] const auto written = write(pipe_[1], &byte, 1);
      };
      sigemptyset(&action.sa_mask);
      sigaction(kSignals[i], &action, &previous_[i]);
    }
  }
  ~EndRequests() {
    for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &previous_[i], nullptr);
    for (const int end : pipe_) close(end);
  }
  EndRequests(const EndRequests&) = delete;
  EndRequests& operator=(const EndRequests&) = delete;

  int readable() const { return pipe_[0]; }
  int signal() const {
    char byte = 0;
    return read(pipe_[0], &byte, 1) == 1 ? byte : 0;
  }

 private:
  static constexpr int kSignals[] = {SIGTERM, SIGINT};
  static int pipe_[2];
  struct sigaction previous_[2]{};
};
int EndRequests::pipe_[2];

class Run {
 public:
  Run(int ranks, const RanksOptions& options, const Place& test)
      : test_(test), deadline_(deadline_of(options)) {
    std::filesystem::create_directory(folder_.path() + kFilesFolder);
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    name_ = std::string(info->test_suite_name()) + "." + info->name();
    for (int rank = 0; rank < ranks; ++rank) {
      children_.push_back(std::make_unique<Child>(
          rank, ranks, name_, folder_.path(),
          options.environment ? options.environment(rank)
                              : std::vector<std::string>()));
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void finish() {
    bool in_time = true;
    while (in_time && goes_on()) in_time = wait();
    const int signal = in_time ? 0 : requests_.signal();
    if (!in_time) {
      for (const auto& child : children_) child->end_late();
    }
    keep_logs();
    std::vector<Report> reports;
    for (const auto& child : children_) {
      for (Report& report : child->all_reports()) {
        reports.push_back(std::move(report));
      }
    }
    std::vector<int> ended;
    for (const auto& child : children_) {
      if (child->came_to_the_end()) ended.push_back(child->rank());
    }
    if (tell(std::move(reports), static_cast<int>(children_.size()), ended,
             test_)) {
      show_output();
    }
    if (signal == 0) return;
    std::cerr << "ended by signal " << signal << std::endl;
    children_.clear();
    std::signal(signal, SIG_DFL);
    raise(signal);
  }

 private:
  // Ranks that are stuck are left when all others have ended.
  bool goes_on() {
    for (const auto& child : children_) {
      if (!child->ended() && (!child->stopped() || child->holds())) return true;
    }
    for (const auto& child : children_) child->kill();
    return false;
  }

  // Whether something happened in time.
  bool wait() {
    std::vector<pollfd> events;
    std::vector<Child*> polled;
    for (const auto& child : children_) {
      if (child->ended()) continue;
      events.push_back({child->socket(), POLLIN, 0});
      polled.push_back(child.get());
    }
    events.push_back({requests_.readable(), POLLIN, 0});
    const int ready = poll(events.data(), events.size(), milliseconds_left());
    if (ready < 0 && errno == EINTR) return true;
    if (ready <= 0 || events.back().revents != 0) return false;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (events[i].revents == 0) continue;
      std::vector<Message> said;
      polled[i]->listen(said);
      for (const Message& message : said) hear(*polled[i], message);
    }
    answer();
    return true;
  }

  int milliseconds_left() const {
    if (deadline_ == Clock::time_point::max()) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline_ - Clock::now());
    return std::max<int>(0, static_cast<int>(left.count()));
  }

  void hear(Child& child, const Message& message) {
    if (message.kind == MessageKind::kResume) {
      children_.at(message.number)->resume();
    }
    if (message.kind == MessageKind::kHolds) {
      std::cerr << "rank " << child.rank() << " of " << children_.size()
                << " is process " << child.pid() << " and waits: gdb -p "
                << child.pid() << " and continue there, or kill -CONT "
                << child.pid() << std::endl;
    }
  }

  void answer() {
    const auto all = [&](const auto& holds) {
      return std::all_of(children_.begin(), children_.end(), holds);
    };
    const auto gone = [](const auto& child) {
      return child->left() && !child->left_by_fault();
    };
    const auto at_barrier = [](const auto& child) {
      return child->question() &&
             child->question()->kind == MessageKind::kBarrier;
    };
    const auto one_gone =
        std::find_if(children_.begin(), children_.end(), gone);
    const bool all_here = all([&](const auto& child) {
      return at_barrier(child) || child->stopped() || child->left_by_fault();
    });
    for (const auto& child : children_) {
      if (!child->question() || child->ended()) continue;
      const Message& question = *child->question();
      if (question.kind == MessageKind::kBarrier) {
        if (one_gone != children_.end()) {
          refuse(*child, **one_gone, "reach the barrier");
        } else if (all_here) {
          child->answer({MessageKind::kGoOn, 0, "", 0, ""});
        }
        continue;
      }
      Child& other = *children_.at(question.number);
      const bool for_end = question.kind == MessageKind::kWaitForEnd;
      if (for_end ? other.ended() : other.stopped()) {
        child->answer({MessageKind::kGoOn, 0, "", 0, ""});
      } else if (other.ended()) {
        refuse(*child, other, "stand still");
      }
    }
  }

  static void refuse(Child& asking, const Child& gone, const char* what) {
    asking.answer({MessageKind::kRefused, 0, "", 0,
                   "rank " + std::to_string(gone.rank()) +
                       " has ended, and will not " + what});
  }

  void show_output() const {
    for (const auto& child : children_) {
      const std::string output = child->output();
      if (output.empty()) continue;
      std::cerr << "---- output of rank " << child->rank() << " of "
                << children_.size() << " ----\n"
                << output << (output.back() == '\n' ? "" : "\n");
    }
  }

  void keep_logs() const {
    if (flags().keep_logs.empty()) return;
    std::error_code error;
    const std::filesystem::path folder = flags().keep_logs;
    std::filesystem::create_directories(folder, error);
    for (const auto& child : children_) {
      std::string file = name_ + ".rank" + std::to_string(child->rank());
      std::replace(file.begin(), file.end(), '/', '.');
      if (!error) {
        std::filesystem::copy_file(
            child->output_path(), folder / (file + ".log"),
            std::filesystem::copy_options::overwrite_existing, error);
      }
      if (error) {
        ADD_FAILURE_AT(test_.file, test_.line)
            << "--tally_keep_logs: cannot write " << folder / (file + ".log")
            << ": " << error.message();
        return;
      }
    }
  }

  const Place test_;
  const Folder folder_;
  const Clock::time_point deadline_;
  std::string name_;
  const EndRequests requests_;
  std::vector<std::unique_ptr<Child>> children_;
};

}  // namespace

void run_ranks(int ranks, const RanksOptions& options, const Place& test) {
  try {
    Run(ranks, options, test).finish();
  } catch (const std::exception& error) {
    ADD_FAILURE_AT(test.file, test.line) << error.what();
  }
}

}  // namespace tally::testkit::internal

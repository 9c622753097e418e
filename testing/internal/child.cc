#include "tally/testing/internal/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tally/sync/launch/spawn.h"
#include "tally/testing/internal/call_status.h"
#include "tally/testing/internal/flags.h"
#include "tally/testing/internal/protocol.h"
#include "tally/testing/internal/stacks.h"

namespace tally::testkit::internal {
namespace {

// What a rank whose time is up gets to write its stack.
constexpr int kForTheStackMs = 3000;
constexpr std::size_t kMostOutput = 64 * 1024;

// Of GoogleTest, and of what runs it: for the runner alone.
const char* const kNotForRanks[] = {
    "GTEST_BREAK_ON_FAILURE",
    "GTEST_BRIEF",
    "GTEST_FAIL_FAST",
    "GTEST_FILTER",
    "GTEST_FLAGFILE",
    "GTEST_OUTPUT",
    "GTEST_REPEAT",
    "GTEST_SHARD_INDEX",
    "GTEST_SHARD_STATUS_FILE",
    "GTEST_SHUFFLE",
    "GTEST_TOTAL_SHARDS",
    "TESTBRIDGE_TEST_ONLY",
    "TESTBRIDGE_TEST_RUNNER_FAIL_FAST",
    "TEST_PREMATURE_EXIT_FILE",
    "TEST_SHARD_INDEX",
    "TEST_SHARD_STATUS_FILE",
    "TEST_TOTAL_SHARDS",
    "XML_OUTPUT_FILE",
};

std::vector<std::string> arguments_for(const std::string& test) {
  std::vector<std::string> arguments = arguments_for_ranks();
  const auto* program = ::testing::UnitTest::GetInstance();
  for (const std::string& flag :
       {"filter=" + test,
        "random_seed=" + std::to_string(program->random_seed()),
        std::string("also_run_disabled_tests"),
        std::string("catch_exceptions=") +
            (::testing::GTEST_FLAG(catch_exceptions) ? "1" : "0")}) {
    arguments.push_back("--gtest_" + flag);
  }
  return arguments;
}

}  // namespace

Child::Child(int rank, int size, const std::string& test,
             const std::string& folder,
             const std::vector<std::string>& environment)
    : rank_(rank), size_(size), folder_(folder), test_(test) {
  const std::string number = std::to_string(rank);
  const std::string ranks = std::to_string(size);
  int sockets[2];
  const int output = open(output_path().c_str(),
                          O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    const std::string why = std::strerror(errno);
    if (output >= 0) close(output);
    throw std::runtime_error("cannot open the files of rank " + number + ": " +
                             why);
  }
  socket_ = sockets[0];
  sync::internal::SpawnOptions spawn;
  spawn.arguments = arguments_for(test);
  spawn.environment = {
      "RANK=" + number,
      "WORLD_SIZE=" + ranks,
      "LOCAL_RANK=" + number,
      "LOCAL_WORLD_SIZE=" + ranks,
      "TALLY_STORE=" + folder + "/environment_store",
      kRankVariable + ("=" + number),
      kSizeVariable + ("=" + ranks),
      kDirectoryVariable + ("=" + folder),
      kTestVariable + ("=" + test),
      kRunnerVariable + ("=" + std::to_string(getpid())),
  };
  if (const auto hold = flags().hold_rank) {
    spawn.environment.push_back(kPatientVariable + std::string("=1"));
    if (*hold == rank) {
      spawn.environment.push_back(kHoldVariable + std::string("=1"));
    }
  }
  spawn.environment.insert(spawn.environment.end(), std::begin(kNotForRanks),
                           std::end(kNotForRanks));
  spawn.environment.insert(spawn.environment.end(), environment.begin(),
                           environment.end());
  spawn.input = sockets[1];
  spawn.output = output;
  spawn.error = output;
  try {
    pid_ = sync::internal::spawn_self(spawn);
  } catch (...) {
    for (const int file : {sockets[0], sockets[1], output}) close(file);
    throw;
  }
  close(sockets[1]);
  close(output);
}

Child::~Child() {
  if (!ended()) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(socket_);
}

void Child::answer(const Message& message) {
  question_.reset();
  send_message(socket_, message);
}

void Child::listen(std::vector<Message>& said) {
  const bool open = reader_.read(socket_);
  while (auto message = reader_.next()) take(*message, said);
  if (!open) reap();
}

void Child::take(const Message& message, std::vector<Message>& said) {
  const auto failure = [&](Report::Kind kind) {
    reports_.push_back({rank_, kind, Weight::kCause, message.file, message.line,
                        message.text});
  };
  switch (message.kind) {
    case MessageKind::kBegan:
      began_ = true;
      return;
    case MessageKind::kNotThisTest:
      other_test_ = true;
      return;
    case MessageKind::kHolds:
      holds_ = true;
      wait_until_stopped();
      said.push_back(message);
      return;
    case MessageKind::kFailure:
      return failure(Report::Kind::kFailure);
    case MessageKind::kFatalFailure:
      return failure(Report::Kind::kFatal);
    case MessageKind::kSkip:
      return failure(Report::Kind::kSkip);
    case MessageKind::kThrew:
      reports_.push_back(
          report(static_cast<Weight>(message.number), message.text));
      return;
    case MessageKind::kDone:
      done_ = true;
      return;
    case MessageKind::kWillEnd:
      expected_status_ = message.number;
      return;
    case MessageKind::kWillStop:
      wait_until_stopped();
      return;
    case MessageKind::kBarrier:
    case MessageKind::kWaitForEnd:
    case MessageKind::kWaitForStop:
      question_ = message;
      return;
    default:
      said.push_back(message);
  }
}

void Child::wait_until_stopped() {
  int status = 0;
  if (waitpid(pid_, &status, WUNTRACED) != pid_) return;
  if (WIFSTOPPED(status)) {
    stopped_ = true;
  } else {
    status_ = status;
  }
}

void Child::reap() {
  int status = 0;
  if (!ended() && waitpid(pid_, &status, 0) == pid_) status_ = status;
}

void Child::resume() {
  if (ended()) return;
  stopped_ = false;
  ::kill(pid_, SIGCONT);
}

void Child::kill() {
  if (ended()) return;
  killed_ = true;
  ::kill(pid_, SIGKILL);
  reap();
}

void Child::end_late() {
  if (ended()) return;
  late_ = true;
  const std::string call = CallStatus::read(path("status."));
  late_text_ = done_ ? "has finished its test, but its process is still running"
               : call.empty()
                   ? "did not end in time: its process is still starting"
                   : "did not end in time and " + call;
  ::kill(pid_, stack_signal());
  std::vector<Message> said;
  pollfd event{socket_, POLLIN, 0};
  while (!ended() && poll(&event, 1, kForTheStackMs) > 0) listen(said);
  const std::string stack = read_stack(path("stack."));
  late_text_ += stack.empty() ? "; it did not answer a request for its stack"
                              : "; it is in" + stack;
  kill();
}

std::vector<Report> Child::all_reports() const {
  std::vector<Report> reports = reports_;
  const int status = status_.value_or(0);
  if (late_) {
    reports.push_back(report(Weight::kLate, late_text_));
  } else if (killed_ ||
             expected_status_ == sync::internal::exit_status(status)) {
    // Nothing to say: it stood still, or ended, by a fault of the test's.
  } else if (other_test_ || (!began_ && WIFEXITED(status))) {
    reports.push_back(
        report(Weight::kCause,
               "this program, started again with --gtest_filter=" + test_ +
                   ", did not run that test: a custom main() must call "
                   "::testing::InitGoogleTest(&argc, argv), leave the filter "
                   "unchanged, and call RUN_ALL_TESTS()" +
                   told_by_output()));
  } else if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const std::string stack = read_stack(path("stack."));
    reports.push_back(report(
        Weight::kCause,
        "ended by signal " + std::to_string(signal) + " (" + strsignal(signal) +
            ")" + (stack.empty() ? "" : " in" + stack) + told_by_output()));
  } else if (!done_) {
    reports.push_back(
        report(Weight::kCause, "its process ended during the test, by exit(" +
                                   std::to_string(WEXITSTATUS(status)) + ")"));
  } else if (WEXITSTATUS(status) != 0 && reports.empty()) {
    reports.push_back(report(
        Weight::kCause, "its process ended with " +
                            std::to_string(WEXITSTATUS(status)) +
                            " although the test passed" + told_by_output()));
  }
  return reports;
}

Report Child::report(Weight weight, std::string text) const {
  return {rank_, Report::Kind::kFatal, weight, "", 0, std::move(text)};
}

std::string Child::path(const char* kind) const {
  return folder_ + "/" + kind + std::to_string(rank_);
}

std::string Child::output_path() const { return path("output."); }

std::string Child::output() const {
  std::ifstream file(output_path());
  std::stringstream text;
  text << file.rdbuf();
  std::string all = text.str();
  if (all.size() > kMostOutput) {
    all = "(" + std::to_string(all.size() - kMostOutput) +
          " bytes before) ..." + all.substr(all.size() - kMostOutput);
  }
  return all;
}

std::string Child::told_by_output() const {
  return output().empty() ? "" : "; its output is below";
}

}  // namespace tally::testkit::internal

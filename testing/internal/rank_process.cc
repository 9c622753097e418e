#include "tally/testing/internal/rank_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <utility>

#include "tally/sync/gloo.h"
#include "tally/sync/launch/spawn.h"
#include "tally/testing/internal/call_status.h"
#include "tally/testing/internal/failure_report.h"
#include "tally/testing/internal/messages.h"
#include "tally/testing/internal/protocol.h"
#include "tally/testing/internal/rank_state.h"
#include "tally/testing/internal/stacks.h"

// Of tools that write what they found when a process ends.
extern "C" {
[[gnu::weak]] void __gcov_dump();
[[gnu::weak]] int __llvm_profile_write_file();
[[gnu::weak]] void __lsan_do_leak_check();
[[gnu::weak]] void __tsan_init();
}

namespace tally::testkit::internal {
namespace {

using std::chrono::milliseconds;

/// A variable of the environment that the processes started from here on must
/// not see: they are not ranks of this test.
std::string take(const char* variable) {
  const char* value = std::getenv(variable);
  std::string text = value == nullptr ? "" : value;
  unsetenv(variable);
  return text;
}

/// Standard input is the runner's socket: away from the reach of the body.
int take_socket() {
  const int socket = fcntl(0, F_DUPFD_CLOEXEC, 3);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, 0);
  close(null);
  return socket;
}

/// The destructors of LibTorch's own statics take more than half as long as its
/// start. Registered before main(), this runs behind what the program itself
/// has asked for at its end, and before them.
void end_before_libraries() {
  if (__gcov_dump || __llvm_profile_write_file || __lsan_do_leak_check ||
      __tsan_init) {
    return;
  }
  on_exit(
      [](int status, void*) {
        std::cout.flush();
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

}  // namespace

class RankProcess final : public Host,
                          public ::testing::EmptyTestEventListener {
 public:
  RankProcess()
      : rank_(std::stoi(take(kRankVariable))),
        size_(std::stoi(take(kSizeVariable))),
        directory_(take(kDirectoryVariable)),
        test_(take(kTestVariable)),
        holds_(!take(kHoldVariable).empty()),
        patient_(!take(kPatientVariable).empty()),
        socket_(take_socket()),
        status_(directory_ + "/status." + std::to_string(rank_)) {
    sync::internal::end_with_parent(std::stoi(take(kRunnerVariable)));
    write_stacks_to(directory_ + "/stack." + std::to_string(rank_));
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(this);
    end_before_libraries();
  }

  void enter(const RanksOptions& options) {
    if (runs_) {
      GTEST_FAIL() << "RUN_ALL_TESTS() within the body of a test over ranks";
    }
    const milliseconds timeout =
        patient_ ? std::chrono::hours(24) : options.timeout;
    state_ = std::make_shared<RankState>(*this, rank_, size_, timeout);
    if (!options.connect) return;
    sync::GlooOptions gloo;
    gloo.hostname = "127.0.0.1";
    gloo.timeout = timeout;
    // Programs do not start at the same time.
    gloo.init_timeout = std::max<milliseconds>(timeout, options.deadline);
    gloo.store_name = "the test's store";
    state_->set_group(
        sync::make_gloo_communicator(
            c10::make_intrusive<c10d::FileStore>(directory_ + "/group", size_),
            rank_, size_, gloo),
        &status_);
    guard_.emplace(state_->group());
  }

  void run(const std::function<void(Rank&)>& body) {
    runs_ = true;
    try {
      Rank self(state_);
      body(self);
    } catch (...) {
      const Report report = report_of(std::current_exception(), rank_);
      tell({MessageKind::kThrew, static_cast<int>(report.weight), "", 0,
            report.text});
      threw_ = true;
    }
    runs_ = false;
  }

  // What GoogleTest says.

  void OnTestProgramStart(const ::testing::UnitTest&) override {
    // A main() that does not let GoogleTest read its arguments would run every
    // test, each of which would start ranks.
    if (::testing::GTEST_FLAG(filter) == test_) return;
    tell({MessageKind::kNotThisTest, 0, "", 0, ::testing::GTEST_FLAG(filter)});
    std::_Exit(kLateExit);
  }

  void OnTestStart(const ::testing::TestInfo&) override {
    tell({MessageKind::kBegan, 0, "", 0, ""});
    if (!holds_) return;
    tell({MessageKind::kHolds, 0, "", 0, ""});
    raise(SIGSTOP);
  }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.passed()) return;
    tell({result.skipped()          ? MessageKind::kSkip
          : result.fatally_failed() ? MessageKind::kFatalFailure
                                    : MessageKind::kFailure,
          0, result.file_name() == nullptr ? "" : result.file_name(),
          result.line_number(), result.message()});
  }

  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (runs_) return;
    guard_.reset();
    if (state_) {
      const std::string left = state_->faults_left();
      // A rank that failed may not have come so far.
      if (!left.empty() && info.result()->Passed() && !threw_) {
        tell({MessageKind::kFatalFailure, 0, "", 0, left});
      }
      state_->leave();
    }
    tell({MessageKind::kDone, 0, "", 0, ""});
  }

  // What the body asks for.

  c10::intrusive_ptr<c10d::Store> store() override {
    if (!store_) {
      store_ =
          c10::make_intrusive<c10d::FileStore>(directory_ + "/store", size_);
    }
    return store_;
  }
  std::string folder() override { return directory_ + kFilesFolder; }
  void barrier() override { ask({MessageKind::kBarrier, 0, "", 0, ""}); }
  void wait_for_end(int rank) override {
    ask({MessageKind::kWaitForEnd, rank, "", 0, ""});
  }
  void wait_for_stop(int rank) override {
    ask({MessageKind::kWaitForStop, rank, "", 0, ""});
  }
  void resume(int rank) override {
    tell({MessageKind::kResume, rank, "", 0, ""});
  }
  void stop() override {
    tell({MessageKind::kWillStop, 0, "", 0, ""});
    raise(SIGSTOP);
  }
  [[noreturn]] void die(int signal) override {
    tell({MessageKind::kWillEnd, 128 + signal, "", 0, ""});
    std::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    kill(getpid(), signal);
    throw std::invalid_argument("signal " + std::to_string(signal) +
                                " does not end a process");
  }
  [[noreturn]] void exit(int code) override {
    tell({MessageKind::kWillEnd, code, "", 0, ""});
    std::_Exit(code);
  }

 private:
  void tell(const Message& message) {
    std::lock_guard<std::mutex> lock(sending_);
    // Without a runner this process has been killed already.
    send_message(socket_, message);
  }

  void ask(const Message& message) {
    std::lock_guard<std::mutex> lock(asking_);
    tell(message);
    for (;;) {
      if (const auto answer = reader_.next()) {
        if (answer->kind == MessageKind::kGoOn) return;
        throw std::runtime_error(answer->text);
      }
      if (!reader_.read(socket_)) throw std::runtime_error("no runner");
    }
  }

  const int rank_;
  const int size_;
  const std::string directory_;
  const std::string test_;
  const bool holds_;
  const bool patient_;
  const int socket_;
  std::mutex sending_;
  std::mutex asking_;
  MessageReader reader_;
  CallStatus status_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::shared_ptr<RankState> state_;
  std::optional<sync::CommunicatorGuard> guard_;
  bool runs_ = false;
  bool threw_ = false;
};

RankProcess* rank_process() {
  // GoogleTest deletes it.
  static RankProcess* const process =
      std::getenv(kRankVariable) == nullptr ? nullptr : new RankProcess;
  return process;
}

void enter_test(const RanksOptions& options) { rank_process()->enter(options); }

void run_in_process(const std::function<void(Rank&)>& body) {
  rank_process()->run(body);
}

}  // namespace tally::testkit::internal

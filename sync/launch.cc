#include "tally/sync/launch.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tally/sync/environment.h"
#include "tally/sync/spawn.h"

namespace tally::sync {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLauncherVariable = "TALLY_LAUNCHER_PID";

/// Signals as a file descriptor, for as long as it lives.
class SignalQueue {
 public:
  SignalQueue() {
    // If SIGCHLD were ignored, the ranks' statuses would be lost.
    struct sigaction defaults {};
    defaults.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &defaults, &previous_child_action_);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action;
      sigaction(signal, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &previous_mask_);
    fd_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    TORCH_CHECK(fd_ >= 0, "signalfd failed: ", std::strerror(errno));
  }
  ~SignalQueue() {
    next();  // what is pending would end this process now
    close(fd_);
    pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
    sigaction(SIGCHLD, &previous_child_action_, nullptr);
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  int fd() const { return fd_; }
  /// Takes all that came; the last that asks to end, or 0.
  int next() {
    int stop = 0;
    signalfd_siginfo info;
    while (read(fd_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGCHLD) stop = static_cast<int>(info.ssi_signo);
    }
    return stop;
  }

 private:
  int fd_;
  sigset_t previous_mask_;
  struct sigaction previous_child_action_;
};

/// A folder for the store's file, gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    path_ = std::filesystem::temp_directory_path() / "tally-XXXXXX";
    TORCH_CHECK(mkdtemp(path_.data()), "cannot create a folder like ", path_,
                ": ", std::strerror(errno));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Passes on what comes through a pipe, in whole lines with a prefix.
class LineForwarder {
 public:
  LineForwarder(int from, int to, std::string prefix)
      : from_(from), to_(to), prefix_(std::move(prefix)) {}

  /// Negative at the end of the stream, which poll() takes as none.
  int fd() const { return from_; }

  /// Passes on the whole lines that are there.
  void forward() {
    char buffer[4096];
    while (from_ >= 0) {
      const ssize_t count = read(from_, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      if (count == 0) {
        close(from_);
        from_ = -1;
      }
      pending_.append(buffer, count);
      write_lines();
    }
  }

  /// Passes on all that is there, and waits for no more: a rank may have left
  /// its end to a process that lives on.
  void finish() {
    forward();
    if (!pending_.empty()) pending_ += '\n';
    write_lines();
    if (from_ >= 0) close(from_);
    from_ = -1;
  }

 private:
  void write_lines() {
    std::string text;
    std::size_t begin = 0;
    for (std::size_t end; (end = pending_.find('\n', begin)) != pending_.npos;
         begin = end + 1) {
      text += prefix_;
      text.append(pending_, begin, end + 1 - begin);
    }
    pending_.erase(0, begin);
    for (const char* p = text.data(); p < text.data() + text.size();) {
      const ssize_t count = write(to_, p, text.data() + text.size() - p);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;  // nobody reads it any more
      p += count;
    }
  }

  int from_;
  int to_;
  std::string prefix_;
  std::string pending_;
};

class LocalRanks {
 public:
  explicit LocalRanks(const LaunchOptions& options) : options_(options) {}

  ~LocalRanks() {
    signal_all(SIGKILL);
    for (pid_t pid : pids_) {
      if (pid > 0) waitpid(pid, nullptr, 0);
    }
  }
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  int run(int ranks, const std::vector<std::string>& arguments) {
    for (int rank = 0; rank < ranks; ++rank) start(rank, ranks, arguments);
    while (running()) {
      std::vector<pollfd> events{{signals_.fd(), POLLIN, 0}};
      for (const LineForwarder& f : forwarders_) {
        events.push_back({f.fd(), POLLIN, 0});
      }
      poll(events.data(), events.size(), milliseconds_left());
      for (LineForwarder& forwarder : forwarders_) forwarder.forward();
      if (const int signal = signals_.next()) {
        fail(128 + signal);
        escalate();
      }
      reap();
      if (next_signal_ != 0 && Clock::now() >= next_at_) escalate();
    }
    for (LineForwarder& forwarder : forwarders_) forwarder.finish();
    return status_;
  }

 private:
  void start(int rank, int ranks, const std::vector<std::string>& arguments) {
    const std::string number = std::to_string(rank);
    const std::string size = std::to_string(ranks);
    SpawnOptions spawn;
    spawn.arguments = arguments;
    spawn.environment = {
        "RANK=" + number,
        "WORLD_SIZE=" + size,
        "LOCAL_RANK=" + number,
        "LOCAL_WORLD_SIZE=" + size,
        "TALLY_STORE=" + folder_.path() + "/store",
        kLauncherVariable + ("=" + std::to_string(getpid())),
    };
    if (std::getenv("OMP_NUM_THREADS") == nullptr) {
      const int cores = static_cast<int>(std::thread::hardware_concurrency());
      spawn.environment.push_back("OMP_NUM_THREADS=" +
                                  std::to_string(std::max(1, cores / ranks)));
    }
    std::vector<int> to_close;
    if (rank > 0) {
      spawn.input = open("/dev/null", O_RDWR | O_CLOEXEC);
      spawn.output = options_.show_all_ranks
                         ? forward(STDOUT_FILENO, number, to_close)
                         : spawn.input;
      spawn.error = forward(STDERR_FILENO, number, to_close);
      to_close.push_back(spawn.input);
    }
    pids_.push_back(spawn_self(spawn));
    for (int fd : to_close) close(fd);
  }

  /// The end to write to.
  int forward(int to, const std::string& rank, std::vector<int>& to_close) {
    int ends[2];
    TORCH_CHECK(pipe2(ends, O_CLOEXEC) == 0,
                "cannot open a pipe: ", std::strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    forwarders_.emplace_back(ends[0], to, "[rank " + rank + "] ");
    to_close.push_back(ends[1]);
    return ends[1];
  }

  bool running() const {
    return std::any_of(pids_.begin(), pids_.end(),
                       [](pid_t pid) { return pid > 0; });
  }

  void reap() {
    for (pid_t& pid : pids_) {
      int status = 0;
      if (pid <= 0 || waitpid(pid, &status, WNOHANG) != pid) continue;
      pid = 0;
      if (exit_status(status) != 0) fail(exit_status(status));
    }
  }

  /// Only the first failure counts: the others follow from it.
  void fail(int status) {
    if (status_ != 0) return;
    status_ = status;
    next_signal_ = SIGTERM;
    next_at_ = Clock::now() + options_.grace;
  }

  void escalate() {
    signal_all(next_signal_);
    next_signal_ = SIGKILL;
    next_at_ = Clock::now() + options_.grace;
  }

  void signal_all(int signal) {
    for (pid_t pid : pids_) {
      if (pid > 0) kill(pid, signal);
    }
  }

  int milliseconds_left() const {
    if (next_signal_ == 0) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(next_at_ - Clock::now());
    return static_cast<int>(std::max<std::int64_t>(0, left.count()));
  }

  const LaunchOptions& options_;
  TemporaryFolder folder_;
  SignalQueue signals_;
  std::vector<pid_t> pids_;  // 0 for those that have ended
  std::vector<LineForwarder> forwarders_;
  int status_ = 0;
  int next_signal_ = 0;
  Clock::time_point next_at_;
};

}  // namespace

std::optional<int> launch_local(int ranks, int argc, char** argv,
                                const LaunchOptions& options) {
  TORCH_CHECK_VALUE(ranks > 0, "expected at least 1 rank, got ", ranks);
  const Environment environment = parse_environment(
      [](const char* name) -> const char* { return std::getenv(name); });
  if (const char* launcher = std::getenv(kLauncherVariable)) {
    end_with_parent(std::atoi(launcher));
    unsetenv(kLauncherVariable);  // it is not the parent of our own children
  }
  // One task of Slurm or MPI is an allocation to launch ranks in.
  const bool is_rank =
      environment.launcher == "torchrun" || environment.world_size > 1;
  if (ranks == 1 || is_rank) return std::nullopt;
  return LocalRanks(options).run(ranks,
                                 std::vector<std::string>(argv, argv + argc));
}

}  // namespace tally::sync

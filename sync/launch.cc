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
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tally/sync/environment.h"
#include "tally/sync/errors.h"
#include "tally/sync/launch/spawn.h"

namespace tally::sync {
namespace {

using Clock = std::chrono::steady_clock;

// Beside what kReasonVariable names: a rank's own reason, and one that follows
// from another rank's end. Who comes first writes it.
constexpr const char* kCause = ".cause";
constexpr const char* kConsequence = ".consequence";

bool follows_from_another(const std::exception& error) {
  const auto* sync_error = dynamic_cast<const SyncError*>(&error);
  if (sync_error == nullptr) return false;
  return sync_error->code() == SyncErrorCode::kPeerLost ||
         sync_error->code() == SyncErrorCode::kPeerFailed ||
         sync_error->code() == SyncErrorCode::kGroupBroken;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string signal_name(int signal) {
  return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

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
    std::error_code error;
    path_ = std::filesystem::temp_directory_path(error) / "tally-XXXXXX";
    TORCH_CHECK(!error, "TMPDIR: expected a folder, for temporary files: ",
                error.message());
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

/// As far as someone reads it.
void write_all(int to, const std::string& text) {
  for (const char* p = text.data(); p < text.data() + text.size();) {
    const ssize_t count = write(to, p, text.data() + text.size() - p);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    p += count;
  }
}

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
    write_all(to_, text);
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
        if (status_ == 0) reason_ = "ended by " + signal_name(signal);
        fail(128 + signal);
        escalate();
      }
      reap();
      if (next_signal_ != 0 && Clock::now() >= next_at_) escalate();
    }
    for (LineForwarder& forwarder : forwarders_) forwarder.finish();
    // Programs that nobody reads end without a word.
    const bool is_unread = status_ == 128 + SIGPIPE;
    if (status_ != 0 && !is_unread) explain(arguments.front());
    return status_;
  }

 private:
  void start(int rank, int ranks, const std::vector<std::string>& arguments) {
    const std::string number = std::to_string(rank);
    const std::string size = std::to_string(ranks);
    internal::SpawnOptions spawn;
    spawn.arguments = arguments;
    spawn.environment = {
        "RANK=" + number,
        "WORLD_SIZE=" + size,
        "LOCAL_RANK=" + number,
        "LOCAL_WORLD_SIZE=" + size,
        "TALLY_STORE=" + folder_.path() + "/store",
        internal::kReasonVariable + ("=" + reason_path()),
        internal::kLauncherVariable + ("=" + std::to_string(getpid())),
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
    pids_.push_back(internal::spawn_self(spawn));
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
    struct Failed {
      int rank;
      pid_t pid;
      int status;
    };
    std::vector<Failed> failed;
    for (int rank = 0; rank < static_cast<int>(pids_.size()); ++rank) {
      int status = 0;
      pid_t& pid = pids_[static_cast<std::size_t>(rank)];
      if (pid <= 0 || waitpid(pid, &status, WNOHANG) != pid) continue;
      if (status != 0) failed.push_back({rank, pid, status});
      pid = 0;
    }
    // The others may have ended because of one that a signal ended.
    const auto killed =
        std::find_if(failed.begin(), failed.end(),
                     [](const Failed& one) { return WIFSIGNALED(one.status); });
    if (killed != failed.end() && reason_.empty() && !has_signalled_) {
      reason_ = "rank " + std::to_string(killed->rank) + " (pid " +
                std::to_string(killed->pid) + ") was ended by " +
                signal_name(WTERMSIG(killed->status));
    }
    if (killed != failed.end()) fail(internal::exit_status(killed->status));
    if (!failed.empty()) fail(internal::exit_status(failed.front().status));
  }

  /// Only the first failure counts: the others follow from it.
  void fail(int status) {
    if (status_ != 0) return;
    status_ = status;
    next_signal_ = SIGTERM;
    next_at_ = Clock::now() + options_.grace;
  }

  void escalate() {
    has_signalled_ = true;
    signal_all(next_signal_);
    next_signal_ = SIGKILL;
    next_at_ = Clock::now() + options_.grace;
  }

  std::string reason_path() const { return folder_.path() + "/reason"; }

  void explain(const std::string& program) const {
    std::string reason = reason_;
    for (const char* kind : {kCause, kConsequence}) {
      if (reason.empty()) reason = contents_of(reason_path() + kind);
    }
    if (reason.empty()) return;
    std::cerr << std::filesystem::path(program).filename().string() + ": " +
                     reason + "\n"
              << std::flush;
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
  std::string reason_;  // as this process knows it
  int next_signal_ = 0;
  bool has_signalled_ = false;
  Clock::time_point next_at_;
};

}  // namespace

std::optional<int> launch_local(int ranks, int argc, char** argv,
                                const LaunchOptions& options) {
  TORCH_CHECK_VALUE(ranks > 0, "expected at least 1 rank, got ", ranks);
  const Environment environment = parse_environment(
      [](const char* name) -> const char* { return std::getenv(name); });
  internal::end_with_launcher();
  // One task of Slurm or MPI is an allocation to launch ranks in.
  const bool is_rank =
      environment.launcher == "torchrun" || environment.world_size > 1;
  if (ranks == 1 || is_rank) return std::nullopt;
  return LocalRanks(options).run(ranks,
                                 std::vector<std::string>(argv, argv + argc));
}

void explain_failure(const std::exception& error, const char* program) {
  const std::string reason = describe(error);
  const std::string& path = internal::end_with_launcher();
  if (path.empty()) {
    std::cerr << std::string(program) + ": " + reason + "\n" << std::flush;
    return;
  }
  const std::string file =
      path + (follows_from_another(error) ? kConsequence : kCause);
  const int descriptor =
      open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return;  // another rank was first
  write_all(descriptor, reason);
  close(descriptor);
}

}  // namespace tally::sync

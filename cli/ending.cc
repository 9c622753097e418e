#include "tally/cli/ending.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <string>

#include "tally/sinks/progress.h"

namespace tally::cli {
namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

// What the handler reads: no other memory is safe there.
std::atomic<bool> is_delayed{false};
std::atomic<int> delayed_signal{0};
std::string* texts[std::size(kEnding)] = {};

void tell(int signal) {
  for (std::size_t i = 0; i < std::size(kEnding); ++i) {
    if (kEnding[i] != signal || texts[i] == nullptr) continue;
    const ssize_t written =
        write(STDERR_FILENO, texts[i]->data(), texts[i]->size());
    static_cast<void>(written);  // there is nobody to tell
  }
}

void handle(int signal) {
  if (is_delayed) {
    delayed_signal = signal;
    return;
  }
  tell(signal);
  end_by(signal);
}

}  // namespace

void say_what_ends(bool tells) {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  const std::string start = Progress::is_on_terminal() ? Progress::kClear : "";
  for (std::size_t i = 0; i < std::size(kEnding); ++i) {
    struct sigaction action {};
    sigaction(kEnding[i], nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // by nohup, say
    texts[i] = new std::string(start);
    if (tells) {
      *texts[i] += "tally: ended by signal " + std::to_string(kEnding[i]) +
                   " (" + strsignal(kEnding[i]) + ")\n";
    }
    action = {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART | SA_RESETHAND | SA_NODEFER;
    sigaction(kEnding[i], &action, nullptr);
  }
}

void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  raise(signal);
  _exit(128 + signal);  // the first process of a container survives signals
}

SignalDelay::SignalDelay() { is_delayed = true; }

SignalDelay::~SignalDelay() {
  is_delayed = false;
  if (const int signal = delayed_signal.exchange(0)) handle(signal);
}

}  // namespace tally::cli

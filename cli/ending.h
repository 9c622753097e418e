#pragma once

#include <string>

namespace tally::cli {

/// To be called at the start of main. From then on SIGINT, SIGTERM and SIGHUP,
/// unless they are ignored, end this process with a line on standard error if
/// `tells` it, after what is on the terminal's line is erased; and files that
/// cannot grow and pipes that nobody reads are errors of writing, not signals.
void say_what_ends(bool tells);

/// Ends this process by a signal, and says nothing.
[[noreturn]] void end_by(int signal);

/// Puts off the signals above while it exists, so that a file is written whole
/// or not at all. A second one ends the process at once. One at a time.
class SignalDelay {
 public:
  SignalDelay();
  ~SignalDelay();
  SignalDelay(const SignalDelay&) = delete;
  SignalDelay& operator=(const SignalDelay&) = delete;
};

}  // namespace tally::cli

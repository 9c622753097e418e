#pragma once

#include <string>

#include "tally/cli/arguments.h"

namespace tally::cli {

/// Throws c10::ValueError unless write_output() can be expected to succeed.
void check_output(const std::string& path);
/// The same of all files that a command writes, which are none of its inputs.
void check_outputs(const Arguments& arguments);
/// Writes all of the text or nothing: a regular file is written under a
/// temporary name and renamed. An empty `path` is the standard output; devices
/// and pipes with a reader are written directly. Throws c10::ValueError. If
/// nobody reads the standard output, ends this process by SIGPIPE, as other
/// programs end.
void write_output(const std::string& path, const std::string& text);

/// To be called at the start of main: keeps the descriptors of closed standard
/// streams from being reused by the next files that are opened.
void hold_closed_streams();

/// While it lives, what this process prints on the standard output goes
/// nowhere: the Gloo of LibTorch 2.10 prints a line about connected ranks
/// there, where the results belong.
class SilentOutput {
 public:
  SilentOutput();
  ~SilentOutput();
  SilentOutput(const SilentOutput&) = delete;
  SilentOutput& operator=(const SilentOutput&) = delete;

 private:
  int output_;
};

}  // namespace tally::cli

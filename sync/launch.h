#pragma once

#include <chrono>
#include <exception>
#include <optional>

namespace tally::sync {

struct LaunchOptions {
  /// Whether to forward the output of ranks other than 0, with "[rank k] "
  /// before each line. Their standard error is always forwarded that way.
  bool show_all_ranks = true;
  /// How long the other ranks may take to exit after a rank has failed, so that
  /// they can report it; then they get SIGTERM, and after the same time again
  /// SIGKILL.
  std::chrono::milliseconds grace{5000};
};

/// Runs this program as `ranks` local ranks. To be called at the start of main,
/// before other threads exist:
///
///   int main(int argc, char** argv) {
///     if (auto status = tally::sync::launch_local(4, argc, argv)) {
///       return *status;  // the launcher, after all ranks have ended
///     }
///     tally::sync::init_from_env();  // a rank
///
/// Starts the program again, with the same arguments, once per rank, with the
/// variables of torchrun and TALLY_STORE set (and OMP_NUM_THREADS, if unset, to
/// the rank's part of the cores), and waits. Rank 0 keeps this process's
/// terminal. Returns 0, the status of the first rank that failed, or, if
/// SIGINT, SIGTERM or SIGHUP ended this process, its own: 128 + number for a
/// signal. If a signal ended a rank, or this process, this is reported on
/// standard error, except for SIGPIPE, because nobody reads it. No rank that
/// has reached init_from_env(), or this function, outlives this process,
/// whatever ends it.
///
/// Empty in the ranks, including those of torchrun and others (environment.h),
/// and for one rank, which needs no separate process.
std::optional<int> launch_local(int ranks, int argc, char** argv,
                                const LaunchOptions& options = {});

/// For the end of main: reports on standard error, in one line, why this
/// process failed. For all ranks started by launch_local(), the launcher prints
/// a single line after they have ended: that a signal ended one of them;
/// otherwise a rank's own reason; otherwise a reason that results from the end
/// of another rank, such as kPeerLost.
void explain_failure(const std::exception& error, const char* program);

}  // namespace tally::sync

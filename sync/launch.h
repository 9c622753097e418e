#pragma once

#include <chrono>
#include <exception>
#include <optional>

namespace tally::sync {

struct LaunchOptions {
  /// Whether to pass on what ranks other than 0 print, with "[rank k] " before
  /// each line. Their standard error is always passed on so.
  bool show_all_ranks = true;
  /// When a rank fails, how long the others may take to end by themselves, so
  /// that they can say what they saw; then they get SIGTERM, and after as long
  /// again SIGKILL.
  std::chrono::milliseconds grace{5000};
};

/// Runs this program as `ranks` local ranks. To be called first thing in main,
/// before there are other threads:
///
///   int main(int argc, char** argv) {
///     if (auto status = tally::sync::launch_local(4, argc, argv)) {
///       return *status;  // the launcher, after all ranks have ended
///     }
///     tally::sync::init_from_env();  // a rank
///
/// Starts the program again, with the same arguments, once for each rank, with
/// the variables of torchrun and TALLY_STORE set (and OMP_NUM_THREADS, to the
/// rank's part of the cores, if it was not), and waits. Rank 0 keeps this
/// process's terminal. Returns 0, or the status of the first rank that failed,
/// or, when SIGINT, SIGTERM or SIGHUP told this process to end, its own:
/// 128 + number for a signal. That a signal ended a rank, or this process, is
/// then said on standard error. No rank that has come to init_from_env(), or to
/// this function, outlives this process, whatever ends it.
///
/// Empty in the ranks, also in those of torchrun and others (environment.h),
/// and for one rank, which needs no process of its own.
std::optional<int> launch_local(int ranks, int argc, char** argv,
                                const LaunchOptions& options = {});

/// For the end of main: says on one line of standard error why this process
/// fails. Of all the ranks that launch_local() started, the launcher says one
/// line, once they have ended: that a signal ended one of them; else what a
/// rank gave as its reason; else, if there is no such, a reason that follows
/// from the end of another rank, such as kPeerLost.
void explain_failure(const std::exception& error, const char* program);

}  // namespace tally::sync

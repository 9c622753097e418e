#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::testkit {

/// The function of one rank, run on its own thread.
using RankFunction =
    std::function<void(std::shared_ptr<sync::Communicator> communicator)>;

enum class ThreadTransport {
  kMemory,  ///< without LibTorch's c10d: fast, and clean under TSan
  kGloo,    ///< Gloo on loopback over a HashStore
};

/// "Memory" or "Gloo", for tests that take a transport as parameter.
struct TransportName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param == ThreadTransport::kMemory ? "Memory" : "Gloo";
  }
};

struct ThreadRanksOptions {
  ThreadTransport transport = ThreadTransport::kMemory;
  /// The communicators' timeout: no collective waits longer.
  std::chrono::milliseconds timeout{20'000};
};

/// Runs `function` on `ranks` threads in parallel; its communicator is also
/// each thread's default one. When a rank's function returns or throws, ranks
/// that wait for it in a collective, or enter one later, immediately get
/// kPeerLost. With kMemory, a collective that the ranks enter with different
/// calls or sizes is kTransport on all of them.
///
/// If ranks throw, one exception is rethrown with its type: that of the first
/// rank that did not merely lose a peer. The texts of the others are printed to
/// stderr.
void run_thread_ranks(int ranks, const RankFunction& function,
                      const ThreadRanksOptions& options = {});

/// The same, but returns each rank's exception; null if there is none.
std::vector<std::exception_ptr> collect_thread_ranks(
    int ranks, const RankFunction& function,
    const ThreadRanksOptions& options = {});

}  // namespace tally::testkit

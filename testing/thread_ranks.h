#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tally/sync/communicator.h"

namespace tally::testkit {

/// What one rank does, on a thread of its own.
using RankFunction =
    std::function<void(std::shared_ptr<sync::Communicator> communicator)>;

enum class ThreadTransport {
  kMemory,  ///< without LibTorch's c10d: quick, and clean under TSan
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
  /// The communicators' timeout: no collective waits for longer.
  std::chrono::milliseconds timeout{20'000};
};

/// Runs `function` on `ranks` threads at once; on each of them the
/// communicator that it gets is the default one too. When a rank's function
/// ends, by return or by a throw, ranks that wait for it in a collective, or
/// enter one later, get kPeerLost at once. In memory, a collective that the
/// ranks enter with different calls or sizes is kTransport on all of them.
///
/// If ranks throw, one exception is thrown again with its type: that of the
/// first rank that did more than lose a peer. The others' texts go to stderr.
void run_thread_ranks(int ranks, const RankFunction& function,
                      const ThreadRanksOptions& options = {});

/// The same, but returns what each rank threw; null for none.
std::vector<std::exception_ptr> collect_thread_ranks(
    int ranks, const RankFunction& function,
    const ThreadRanksOptions& options = {});

}  // namespace tally::testkit

#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <string>

#include "tally/sync/communicator.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace tally::sync {

struct GlooOptions {
  /// The address or host name of the network interface to use: "127.0.0.1" for
  /// ranks on one machine. If empty, `interface` is used.
  std::string hostname;
  /// The name of the interface, for example "eth0". If empty, the one that this
  /// machine's host name resolves to, or else loopback.
  std::string interface;
  /// How long to wait for other ranks in collectives.
  std::chrono::milliseconds timeout = kDefaultTimeout;
  /// The time limit of make_gloo_communicator. If empty, `timeout`.
  Timeout init_timeout = {};
  /// The name of the store in messages.
  std::string store_name = "this store";
};

/// Connects `size` processes or threads that share the store, and returns once
/// every one of them is connected to every other. The store must not have been
/// used for another group; give each group a c10d::PrefixStore. The
/// communicator keeps it, to report after a timeout which ranks had not
/// arrived, but does not require it to exist or to answer.
///
/// SyncError kTimeout names the ranks that did not arrive; when the first rank
/// gives up, all waiting ranks do. kMismatch on every rank if a rank occurs
/// twice or sizes differ; kPeerLost or kTransport if the connection fails in
/// another way. If a store or network does not answer, a thread that waits for
/// it may remain.
std::shared_ptr<Communicator> make_gloo_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const GlooOptions& options = {});

}  // namespace tally::sync

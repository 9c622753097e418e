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
  /// The address or name of the network interface to use: "127.0.0.1" for
  /// ranks on one machine. Empty: by `interface`.
  std::string hostname;
  /// The interface's own name, for example "eth0". Empty: the one that this
  /// machine's host name resolves to, else loopback.
  std::string interface;
  /// How long to wait for other ranks in collectives.
  std::chrono::milliseconds timeout = kDefaultTimeout;
  /// How long all of make_gloo_communicator may take. Empty: as `timeout`.
  Timeout init_timeout = {};
  /// What messages call the store.
  std::string store_name = "this store";
};

/// Connects `size` processes or threads that share the store, and returns once
/// every one of them is connected to every other. The store must not have been
/// used for another group; give each group a c10d::PrefixStore. The
/// communicator keeps it, to say after a timeout which ranks had not arrived,
/// but does without if it is gone or does not answer.
///
/// SyncError kTimeout names the ranks that did not arrive; the first rank to
/// give up ends it for those that wait. kMismatch on every rank if two have the
/// same rank or they disagree on the size; kPeerLost or kTransport if the
/// connection fails otherwise. Where a store or a network does not answer, a
/// thread that waits for it may stay behind.
std::shared_ptr<Communicator> make_gloo_communicator(
    c10::intrusive_ptr<c10d::Store> store, int rank, int size,
    const GlooOptions& options = {});

}  // namespace tally::sync

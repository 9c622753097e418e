#pragma once

#include <chrono>
#include <memory>

#include "tally/sync/communicator.h"

namespace tally::sync {

/// The transport between ranks.
enum class Transport {
  kGloo,  ///< on the CPU
  kNccl,  ///< with Gloo; each rank uses GPU LOCAL_RANK; see nccl.h
};

struct InitOptions {
  /// How long to wait for the other ranks, at startup and in each collective.
  std::chrono::milliseconds timeout = kDefaultTimeout;
  Transport transport = Transport::kGloo;
};

/// Joins the group of ranks that the launcher started, and makes it the
/// process's default communicator; a single process if there is no launcher, or
/// one rank. All ranks must call it. Later calls return the same communicator.
///
/// environment.h lists the variables. Throws c10::ValueError for invalid
/// values, before using the network; SyncError kTimeout, kMismatch, kPeerLost
/// or kTransport, within the timeout, if the ranks fail to connect;
/// kGroupBroken if that happened before; kInvalidUse if the environment has
/// changed since the first call.
///
/// From here on, a rank started by launch_local() ends when its launcher does,
/// for whatever reason.
std::shared_ptr<Communicator> init_from_env(const InitOptions& options = {});

}  // namespace tally::sync
